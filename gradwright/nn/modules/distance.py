"""What `nn.modules.distance` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import distance, normalization
from gradwright.nn.modules._holding import own_names

globals().update(own_names(distance))
globals().update(own_names(normalization))
