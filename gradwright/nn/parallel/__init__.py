"""Modules on many devices, of which there are none, and in many processes."""

from gradwright.nn.parallel.devices import DataParallel as DataParallel
from gradwright.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
