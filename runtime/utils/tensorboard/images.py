"""Images: whatever is in them as pixels, several in one, and as PNG."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from runtime.utils.tensorboard.arrays import Array

_COLUMNS = 8


def pixels(values: Array, dataformats: str) -> Array:
    """Bytes by height, width and channel, of values whose dimensions a text such as `NCHW` names.

    Bytes stay as they are; all else reaches from 0 to 1. Several images stand in one, eight in a row; what has no
    channels, or one, is grey.

    Raises:
        AssertionError: the text does not name the dimensions, or several images have neither one channel nor three.
    """
    wanted = {4: "NCHW", 3: "HWC", 2: "HW"}.get(values.ndim)
    found = dataformats.upper()
    if wanted is None or sorted(found) != sorted(wanted):
        raise AssertionError(f"an image of {values.ndim} dimensions cannot have the format {dataformats}")
    values = values.transpose([found.index(letter) for letter in wanted])
    if wanted == "NCHW":
        values = grid(values, _COLUMNS).transpose(1, 2, 0)
    elif wanted == "HW":
        values = values[:, :, None]
    if values.shape[2] == 1:
        values = np.repeat(values, 3, axis=2)
    return values if values.dtype == np.uint8 else (values.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def grid(images: Array, columns: int) -> Array:
    """Images, by channel, height and width, as one that has so many of them in a row.

    Raises:
        AssertionError: they have neither one channel nor three.
    """
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError(f"images have three channels, or one, but these are of shape {images.shape}")
    count, _, height, width = images.shape
    columns = min(count, columns)
    whole = np.zeros((3, height * math.ceil(count / columns), width * columns), images.dtype)
    for number, image in enumerate(images):
        top, left = (number // columns) * height, (number % columns) * width
        whole[:, top : top + height, left : left + width] = image
    return whole


def png(values: Array) -> bytes:
    """The file of an image, by height, width and channel.

    Raises:
        ImportError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("images are written as PNG by Pillow: pip install pillow", name="PIL") from error
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(values)).save(file, format="PNG")
    return file.getvalue()


def drawn(figures: Any, close: bool) -> Array:
    """What a figure of matplotlib shows, by channel, height and width; of a list of them, one more dimension.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError as error:
        raise ImportError("add_figure draws with matplotlib: pip install matplotlib", name="matplotlib") from error
    if isinstance(figures, list):
        return np.stack([drawn(figure, close) for figure in figures])
    canvas = FigureCanvasAgg(figures)
    canvas.draw()
    colours = np.asarray(canvas.buffer_rgba())[:, :, :3]
    if close:
        pyplot.close(figures)
    return np.moveaxis(colours, 2, 0)
