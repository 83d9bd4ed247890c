"""What `nn.modules.rnn` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import recurrent
from gradwright.nn.modules._holding import own_names

globals().update(own_names(recurrent))
