"""What `nn.modules.utils` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import repeated
from gradwright.nn.modules._holding import own_names

globals().update(own_names(repeated))
