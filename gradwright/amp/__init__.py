"""Mixed precision: `autocast` for blocks, `GradScaler` for their gradients."""

from __future__ import annotations

from gradwright.amp import autocast_mode, grad_scaler
from gradwright.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from gradwright.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_mode",
    "custom_bwd",
    "custom_fwd",
    "grad_scaler",
    "is_autocast_available",
]
