"""Writers of the files that TensorBoard reads."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from google.protobuf import text_format
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from runtime.utils.tensorboard import projector, summary
from runtime.utils.tensorboard.arrays import as_array
from runtime.utils.tensorboard.images import drawn
from runtime.utils.tensorboard.statistics import default_bins

__all__ = ["FileWriter", "SummaryWriter"]

_FORMAT = "brain.Event:2"


class FileWriter:
    """Writes messages to one file, in a thread of its own.

    Args:
        log_dir: the folder of the file.
        max_queue: how many messages may wait.
        flush_secs: after how many seconds what waits is written in any case.
        filename_suffix: the end of the file's name.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder of the file."""
        folder: str = self.event_writer.get_logdir()
        return folder

    def add_event(self, event: Event, step: Any = None, walltime: float | None = None) -> None:
        """Write a message; without a time, that of now."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Summary, global_step: Any = None, walltime: float | None = None) -> None:
        """Write values."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write all that waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write all that waits, and close the file."""
        self.event_writer.close()


class SummaryWriter:
    """Writes what a program tells about itself to files that TensorBoard shows.

    Every method that adds something takes `global_step`, to which step it belongs, and most take `walltime`, when it
    was, in seconds. Values are Tensors, arrays or numbers.

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
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.default_bins = default_bins()
        # Both are None when it is closed; who writes after that opens another file.
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._projected = ProjectorConfig()
        self._get_file_writer()

    def get_logdir(self) -> str | os.PathLike[str]:
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
        """Write a number; in the new style TensorBoard loads it faster, and it may have double precision."""
        self._add(summary.scalar(tag, scalar_value, None, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write several numbers that are shown in one chart: each goes to a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in self.all_writers:
                self.all_writers[path] = self._open(path)
            self.all_writers[path].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a whole Tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: str | int | Sequence[float] = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write how values are distributed: over bins that grow with the distance from zero, or NumPy's `bins`."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write a histogram that the program has made: the upper limit of each bucket, and what is in it.

        Raises:
            ValueError: there are not as many limits as counts.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        found = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(found, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write an image: bytes, or numbers from 0 to 1; `dataformats` names its dimensions."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write several images as one, eight in a row."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Write what a figure of matplotlib shows, or a list of figures, and close it."""
        dataformats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, drawn(figure, close), global_step, walltime, dataformats)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Write a sound of one channel: numbers from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Write points for the projector: a row each, and a text and an image (by channel, height, width) if given.

        With a header the texts are lists, a column each.
        """
        step = 0 if global_step is None else global_step
        images = None if label_img is None else as_array(label_img)
        log_dir = Path(self._get_file_writer().get_logdir())
        folder = log_dir / projector.folder_of(tag, step)
        folder.mkdir(parents=True, exist_ok=True)
        projector.write(folder, as_array(mat), metadata, metadata_header, images)
        self._projected.embeddings.append(projector.describe(tag, step, metadata is not None, images))
        (log_dir / "projector_config.pbtxt").write_text(text_format.MessageToString(self._projected), "utf-8")

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write precision and recall of predictions, which are probabilities, by threshold."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write a curve of precision and recall that the program has made."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        found = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(found, global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Say which scalars are shown together: `{category: {title: ["Multiline" or "Margin", tags]}}`."""
        self._add(summary.custom_scalars(layout))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show several scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show a scalar and, around it, a lower and an upper one: three tags."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Write the parameters that were tried and what came of it, to a folder inside of this one.

        Args:
            hparam_dict: numbers and texts by their names.
            metric_dict: the results, which are written as scalars too.
            hparam_domain_discrete: for parameters that have one of some values, a list of these.
            run_name: the name of the folder; without it the time.
            global_step: to which step it belongs.

        Raises:
            TypeError: one of the first two is no dict.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        messages = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as inner:
            for message in messages:
                inner._add(message, global_step)
            for name, value in metric_dict.items():
                inner.add_scalar(name, value, global_step)

    def add_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: modules are not written as graphs.

        Raises:
            NotImplementedError: always.
        """
        _refuse("add_graph")

    def add_onnx_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: there is no ONNX.

        Raises:
            NotImplementedError: always.
        """
        _refuse("add_onnx_graph")

    def add_image_with_boxes(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: nothing is drawn into images.

        Raises:
            NotImplementedError: always.
        """
        _refuse("add_image_with_boxes")

    def add_video(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: nothing is written as video.

        Raises:
            NotImplementedError: always.
        """
        _refuse("add_video")

    def add_mesh(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: meshes are not written.

        Raises:
            NotImplementedError: always.
        """
        _refuse("add_mesh")

    def flush(self) -> None:
        """Write all that waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write all that waits, and close the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add(self, values: Summary, step: Any = None, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(values, step, walltime)

    def _open(self, folder: str | os.PathLike[str]) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        """The writer of the main file, which is opened again after `close`."""
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version=_FORMAT))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer


def _refuse(method: str) -> NoReturn:
    raise NotImplementedError(f"SummaryWriter.{method} is not there: Gradwright does not write that")
