"""Functions on Tensors, for operators that have no kernels."""

from __future__ import annotations

from gradwright import Tensor, ops


def rotate(vectors: Tensor, quaternion: Tensor) -> Tensor:
    real, axis = quaternion[..., :1], quaternion[..., 1:]
    axis, vectors = ops.broadcast_tensors([axis, vectors])
    turned = ops.linalg_cross(axis, vectors)
    twice = 2 / quaternion.square().sum([-1], True)
    return vectors + twice * (real * turned + ops.linalg_cross(axis, turned))
