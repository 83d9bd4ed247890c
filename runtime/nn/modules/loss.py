"""What `nn.modules.loss` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import loss
from runtime.nn.modules._holding import own_names

globals().update(own_names(loss))
