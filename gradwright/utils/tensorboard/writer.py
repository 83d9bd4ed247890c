"""The writers of tensorboardX, with Tensors for values and PyTorch's signatures."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradwright.nn.module import Module
from gradwright.utils._pytree import tree_map_only
from gradwright.utils.tensorboard.graph import graph
from gradwright.utils.tensorboard.loading import tensorboardx
from runtime.base.dtypes import bfloat16, float32
from runtime.base.tensor import Tensor

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]

FileWriter, RecordWriter = tensorboardx.FileWriter, tensorboardx.RecordWriter


def _array(x: Tensor) -> Any:
    """The values of a Tensor; those of bfloat16, which NumPy does not have, as float32."""
    plain = x.detach().cpu()
    return (plain.to(float32) if plain.dtype is bfloat16 else plain).numpy()


def _number(value: Any) -> Any:
    """The only element of an array; what is none stays."""
    return value.item() if isinstance(value, np.ndarray) else value


def _clipped(image: Any) -> Any:
    """An image without numbers below 0 and above 1, which would begin anew as bytes."""
    return image.clip(0, 1) if isinstance(image, np.ndarray) and image.dtype.kind == "f" else image


def _with_arrays(method: Any) -> Any:
    """A method that gets arrays where it is called with Tensors, also in lists, tuples and dicts."""

    @functools.wraps(method)
    def add(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, _array, (args, kwargs))
        return method(self, *args, **kwargs)

    return add


class SummaryWriter(tensorboardx.SummaryWriter):  # type: ignore[misc]
    """Writes what a program tells about itself to files that TensorBoard shows: see `tensorboardX.SummaryWriter`.

    Values are Tensors, arrays or numbers.

    Args:
        log_dir: the folder; without it `runs/` and one named by time and host.
        comment: the end of that name.
        purge_step: TensorBoard shall forget what was written of this step and later ones, before a program crashed.
        max_queue: how many messages may wait to be written.
        flush_secs: after how many seconds what waits is written in any case.
        filename_suffix: the end of the names of files.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        super().__init__(log_dir, comment, purge_step, max_queue, flush_secs, filename_suffix)
        self.log_dir = self.logdir

    def get_logdir(self) -> Any:
        """The folder of the files."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number, in single precision whatever the last two say."""
        super().add_scalar(tag, scalar_value, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write an image: bytes, or numbers from 0 to 1; `dataformats` names its dimensions."""
        super().add_image(tag, _clipped(img_tensor), global_step, walltime, dataformats)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write several images as one, eight in a row."""
        super().add_images(tag, _clipped(img_tensor), global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Write an image with red boxes in it: rows with the left, upper, right and lower end in pixels."""
        super().add_image_with_boxes(
            tag, _clipped(img_tensor), box_tensor, global_step, walltime, dataformats, labels, rescale=rescale
        )

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Write the parameters that were tried and what came of it, to a folder `run_name` inside of this one.

        Which values parameters may have is not written.

        Raises:
            TypeError: one of the first two is no dict.
        """
        if type(hparam_dict) is dict:
            hparam_dict = {name: _number(value) for name, value in hparam_dict.items()}
        self._get_file_writer()
        super().add_hparams(hparam_dict, metric_dict, run_name, global_step)

    def add_graph(
        self, model: Module, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Write which operators a Module calls for an input, with what, and in which Module below it.

        It runs once, as in evaluation, and is then as it was before. What depends on the input shows as it came out for
        this one.

        Args:
            model: the Module.
            input_to_model: a Tensor, or a tuple of what it is called with: Tensors, and lists, tuples and
                dicts of them.
            verbose: print the graph, too.
            use_strict_trace: the Module may not return dicts.

        Raises:
            RuntimeError: there is something else than Tensors in the input or in the result, or a dict in the result.
        """
        found = graph(model, input_to_model, verbose, use_strict_trace)
        self._get_file_writer().add_event(tensorboardx.proto.event_pb2.Event(graph_def=found.SerializeToString()))


for _name in dir(SummaryWriter):
    if _name.startswith("add_") and _name != "add_graph":
        setattr(SummaryWriter, _name, _with_arrays(getattr(SummaryWriter, _name)))
