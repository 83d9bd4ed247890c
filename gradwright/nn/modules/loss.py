"""What `nn.modules.loss` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import loss
from gradwright.nn.modules._holding import own_names

globals().update(own_names(loss))
