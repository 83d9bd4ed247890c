"""Images: whatever is in them as pixels, several in one, as PNG, and many in a row as a video."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwright.utils.tensorboard.arrays import Array

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
    return _bytes(values)


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


def png(values: Array, rescale: float = 1, boxes: Array | None = None, labels: Sequence[str] | None = None) -> bytes:
    """The file of an image, by height, width and channel.

    Args:
        values: the image.
        rescale: by what its height and width are multiplied.
        boxes: what is drawn into it before: a row each, with the left, upper, right and lower end in pixels.
        labels: what is written in each box.

    Raises:
        ImportError: Pillow is not installed.
        IndexError: the boxes are no rows of four.
    """
    pillow = _pillow("images are written as PNG")
    image = pillow.fromarray(np.ascontiguousarray(values))
    if boxes is not None:
        for number in range(len(boxes)):
            corners = boxes[number, 0], boxes[number, 1], boxes[number, 2], boxes[number, 3]
            _draw_box(image, corners, "" if labels is None else labels[number])
    if rescale != 1:
        height, width, _ = values.shape
        image = image.resize((int(width * rescale), int(height * rescale)), pillow.Resampling.LANCZOS)
    return _file(image, format="PNG")


def _draw_box(image: Any, corners: Sequence[float], label: str) -> None:
    """Draw a red frame, two pixels wide, with black text on red in its lower left corner."""
    from PIL import ImageDraw, ImageFont

    left, top, right, bottom = corners
    pen = ImageDraw.Draw(image)
    pen.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], fill="Red", width=2)
    if label:
        font = ImageFont.load_default()
        start, highest, end, lowest = font.getbbox(label)
        width, height = end - start, lowest - highest
        margin = math.ceil(0.05 * height)
        pen.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
        pen.text((left + margin, bottom - height - margin), label, fill="black", font=font)


def frames(videos: Array) -> Array:
    """Videos, by time, channel, height and width, as one of bytes: by time, height, width and channel.

    Bytes stay as they are; all else reaches from 0 to 1. The numbers of rows and of columns are powers of two;
    what is left over is black.

    Raises:
        ValueError: there are not five dimensions, or there is nothing to show.
    """
    count, times, channels, height, width = videos.shape
    if not videos.size:
        raise ValueError(f"a video of shape {videos.shape} has nothing to show")
    rows = 2 ** ((count.bit_length() - 1) // 2)
    columns = 2 ** (count - 1).bit_length() // rows
    whole = np.zeros((rows * columns, *videos.shape[1:]), np.uint8)
    whole[:count] = _bytes(videos)
    placed = whole.reshape(rows, columns, times, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return placed.reshape(times, rows * height, columns * width, channels)


def gif(values: Array, fps: float) -> bytes:
    """The file of a video, by time, height, width and channel, which begins again when it ends.

    A frame has up to 256 colours there, and lasts whole hundredths of a second; those that are equal are one that lasts
    longer.

    Raises:
        ImportError: Pillow is not installed.
        TypeError: there are neither one channel, nor three, nor four.
    """
    pillow = _pillow("videos are written as GIF")
    if values.shape[3] == 1:
        values = values[:, :, :, 0]
    first, *others = [pillow.fromarray(np.ascontiguousarray(frame)) for frame in values]
    return _file(first, format="GIF", save_all=True, append_images=others, duration=1000 / fps, loop=0)


def _bytes(values: Array) -> Array:
    if values.dtype == np.uint8:
        return values
    return (values.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def _pillow(what: str) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"{what} by Pillow: pip install pillow", name="PIL") from error
    return Image


def _file(image: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, **options)
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
