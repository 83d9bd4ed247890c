"""Recording and differentiation: Nodes, saved state, views, the engine, forward mode."""

from __future__ import annotations

from runtime.base.lazy import load_lazily

load_lazily(__name__, ("jvp", "jvp_by_transpose"))  # for programs with tangents
