"""Batch and instance normalization, which keep running statistics."""

from __future__ import annotations

import numpy as np

from runtime import ops
from runtime.base import dtypes
from runtime.base.array_proxies import on_device
from runtime.base.arrays import is_half
from runtime.base.tensor import Tensor


def _follow(running: Tensor | None, new: Tensor, momentum: float) -> None:
    """Move running statistics by a part towards new ones.

    The write is not counted: no formula uses statistics that a pass in training changes, and two of them may run before
    the first one's backward.
    """
    if running is None or running.is_meta:
        return
    if running._batched or on_device(running):
        kept, wide = running.data, dtypes.promote_types(dtypes.float32, new.dtype)
        kept.copy_(kept.to(wide) * (1 - momentum) + new.data.to(wide) * momentum)
        return
    array, values = running._array, new._array
    wider = np.result_type(np.float32, values.dtype)
    with np.errstate(all="ignore"):
        array[...] = (array.astype(wider) * (1 - momentum) + values.astype(wider) * momentum).astype(array.dtype)


def _check_batches(input: Tensor, *running: Tensor | None) -> None:
    """Refuse statistics that are to follow an input of which there are many under vmap, where they are not as many.

    Raises:
        RuntimeError: the input is batched at a level of vmap where running statistics are not.
    """
    if not input._batched:
        return
    levels = _levels(input)
    if any(each is not None and not levels <= _levels(each) for each in running):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched: each element of the batch would move them to somewhere else. Give each its own "
            "(torch.func.stack_module_state), use none (track_running_stats=False, or "
            "torch.func.replace_all_batch_norm_modules_), or call eval()."
        )


def _levels(tensor: Tensor) -> set[object]:
    """The levels of vmap at which a Tensor is batched."""
    levels = set()
    while tensor._batched:
        levels.add(tensor.level)  # type: ignore[attr-defined]
        tensor = tensor.value  # type: ignore[attr-defined]
    return levels


def _unbiased(invstd: Tensor, count: int, eps: float) -> Tensor:
    """The variance of a sample, of which the batch is one, from 1 / the deviation."""
    return (invstd.detach().reciprocal().square() - eps) * (count / max(count - 1, 1))


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """In training by the statistics of the batch, which the running ones follow; else by the running ones."""
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        return ops._native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps)
    _check_batches(input, running_mean, running_var)
    out, mean, invstd = ops._native_batch_norm_legit(input, weight, bias, True, momentum, eps)
    count = input.numel() // max(input.shape[1], 1)
    for running in (running_mean, running_var):
        if running is not None and running.shape != mean.shape:
            raise RuntimeError(f"running_mean should contain {input.shape[1]} elements not {running.numel()}")
    _follow(running_mean, mean, momentum)
    if running_var is not None:
        _follow(running_var, _unbiased(invstd, count, eps), momentum)
    return out, mean, invstd


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each channel; running ones follow, the variance as that of a sample."""
    channels, count = input.size(1), input.numel() // max(input.size(1), 1)
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    _check_batches(input, running_mean, running_var)
    kept = input.dtype
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is None:
            continue
        if running.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {running.numel()}")
        if running.dtype != input.dtype and not (is_half(input._array.dtype) and running.dtype == dtypes.float32):
            raise RuntimeError(f"mixed dtype (CPU): expect parameter to have scalar type of {input.dtype}")
        kept = running.dtype
    wide = input.float() if is_half(input._array.dtype) else input
    var, mean = ops.var_mean(wide, [0, *range(2, input.dim())], correction=0)
    _follow(running_mean, mean, momentum)
    if running_var is not None:
        unbiased = var.detach() * (count / (count - 1)) if count > 1 else ops.full_like(var, float("nan"))
        _follow(running_var, unbiased, momentum)
    return mean.to(kept), var.to(kept)


def batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`native_batch_norm` in training; the last result is memory that only other devices use."""
    out, mean, invstd = ops.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return out, mean, invstd, ops.empty([0], dtype=dtypes.uint8, device=input.device)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """The input less the mean of its channel over its standard deviation; times a weight, plus a bias."""
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    if input.numel() == 0:  # there is nothing to normalize, but there is a graph
        out = input.clone()
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    return ops.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Each channel of each sample normalized for itself: a batch normalization of one sample with all the channels."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if input.dim() < 2:
        raise RuntimeError(f"instance_norm: expected an input of at least two dimensions, but got {input.dim()}")
    batch, channels = input.shape[0], input.shape[1]
    scale, shift, mean, variance = (
        None if each is None else each.repeat([batch]) for each in (weight, bias, running_mean, running_var)
    )
    images = input.reshape([1, batch * channels, *input.shape[2:]])
    out = ops.batch_norm(images, scale, shift, mean, variance, use_input_stats, momentum, eps, cudnn_enabled)
    for running, moved in ((running_mean, mean), (running_var, variance)):
        if use_input_stats and running is not None and moved is not None:
            running.data.copy_(moved.data.view(batch, channels).mean(0))
    return out.reshape(input.shape)
