"""What `nn.modules.rnn` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import recurrent
from runtime.nn.modules._holding import own_names

globals().update(own_names(recurrent))
