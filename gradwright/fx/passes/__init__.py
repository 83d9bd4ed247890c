"""Passes over graphs."""

from __future__ import annotations

from gradwright.fx.passes import shape_prop as shape_prop
