"""PyTorch's names for the search of the operator whose backward fails: `torch.autograd.anomaly_mode`."""

from __future__ import annotations

from gradwright.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
