"""Recording and differentiation: Nodes, saved state, views, the engine, forward mode."""

from __future__ import annotations

from runtime.base.later import load_later

load_later(__name__, ("jvp", "jvp_by_transpose"))  # for programs with tangents
