"""Files that TensorBoard shows: `SummaryWriter` writes scalars, histograms, images, text and more.

The files are written by the package `tensorboardX`, which the extra `tensorboard` installs.

Raises:
    ImportError: it is not installed.
"""

from gradwright.utils.tensorboard.writer import FileWriter, RecordWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
