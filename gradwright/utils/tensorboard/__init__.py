"""Files that TensorBoard shows: `SummaryWriter` writes scalars, histograms, images, text and more.

The files are written by the package `tensorboard`, which the extra `tensorboard` installs.

Raises:
    ImportError: it is not installed.
"""

from __future__ import annotations

try:
    import tensorboard as _tensorboard  # noqa: F401
except ImportError as error:
    raise ImportError(
        "utils.tensorboard needs the package tensorboard: pip install 'gradwright[tensorboard]'", name="tensorboard"
    ) from error

from tensorboard.summary.writer.record_writer import RecordWriter

from gradwright.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
