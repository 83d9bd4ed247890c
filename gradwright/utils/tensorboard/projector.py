"""What TensorBoard's projector shows: points in many dimensions, each with text and an image."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from gradwright.utils.tensorboard.arrays import Array
from gradwright.utils.tensorboard.images import grid, png

_POINTS, _TEXTS, _IMAGES = "tensors.tsv", "metadata.tsv", "sprite.png"
# Signs that mean something in paths.
_CODES = str.maketrans({sign: f"%{ord(sign):02x}" for sign in "%/\\"})


def folder_of(tag: str, step: int) -> str:
    """Where the files of a tag and a step lie."""
    return f"{str(step).zfill(5)}/{tag.translate(_CODES)}"


def write(
    folder: Path,
    points: Array,
    texts: Sequence[Any] | None,
    header: Sequence[str] | None,
    images: Array | None,
) -> None:
    """Write the files of points, one a row.

    Raises:
        AssertionError: these are no rows, or there are not as many texts or images; or a header has other columns.
    """
    if texts is not None and len(texts) != len(points):
        raise AssertionError("#labels should equal with #data points")
    if images is not None and len(images) != len(points):
        raise AssertionError("#images should equal with #data points")
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if texts is not None:
        _write_lines(folder / _TEXTS, _columns(texts, header) if header else map(str, texts))
    if images is not None:
        (folder / _IMAGES).write_bytes(png(_sprite(images)))
    _write_lines(folder / _POINTS, ("\t".join(str(number) for number in row) for row in points.tolist()))


def describe(tag: str, step: int, texts: bool, images: Array | None) -> EmbeddingInfo:
    """What the projector reads to find the files."""
    folder = folder_of(tag, step)
    info = EmbeddingInfo(tensor_name=f"{tag}:{str(step).zfill(5)}", tensor_path=f"{folder}/{_POINTS}")
    if texts:
        info.metadata_path = f"{folder}/{_TEXTS}"
    if images is not None:
        info.sprite.image_path = f"{folder}/{_IMAGES}"
        info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
    return info


def _columns(texts: Sequence[Sequence[Any]], header: Sequence[str]) -> Iterable[str]:
    if texts and len(header) != len(texts[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return ("\t".join(map(str, row)) for row in (header, *texts))


def _sprite(images: Array) -> Array:
    """All images in one that is square, as the projector wants it."""
    whole = grid(images, math.ceil(math.sqrt(len(images)))).transpose(1, 2, 0)
    height, width, _ = whole.shape
    square = np.zeros((max(width, height), width, 3))
    square[:height] = whole
    return (square * 255).clip(0, 255).astype(np.uint8)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
