"""The modules into which PyTorch divides `nn`, as `nn.modules.conv` and `nn.modules.batchnorm._BatchNorm`.

Each has what the modules of ours have that hold its classes, the names that begin with an underscore as well.
"""

from __future__ import annotations

from runtime.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    linear,
    linear_cross_entropy,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
    utils,
)

_PARTS = (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    linear,
    linear_cross_entropy,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
    utils,
)
for _part in _PARTS:
    globals().update((name, value) for name, value in vars(_part).items() if not name.startswith("_"))
