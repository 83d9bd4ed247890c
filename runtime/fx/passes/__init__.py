"""Passes over graphs."""

from __future__ import annotations

from runtime.fx.passes import shape_prop as shape_prop
