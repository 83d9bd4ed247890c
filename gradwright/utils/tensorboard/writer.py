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
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from gradwright.nn.module import Module
from gradwright.utils.tensorboard import projector, summary
from gradwright.utils.tensorboard.arrays import as_array
from gradwright.utils.tensorboard.graph import graph
from gradwright.utils.tensorboard.images import drawn
from gradwright.utils.tensorboard.statistics import default_bins

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

    def add_graph(self, graph_profile: tuple[GraphDef, RunMetadata], walltime: float | None = None) -> None:
        """Write a graph, and what is known of its run."""
        found, run = graph_profile
        self.add_event(Event(graph_def=found.SerializeToString()), None, walltime)
        tagged = TaggedRunMetadata(tag="step1", run_metadata=run.SerializeToString())
        self.add_event(Event(tagged_run_metadata=tagged), None, walltime)

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
        """Write an image as `add_image` does, with red boxes in it, which Pillow draws.

        Args:
            tag, img_tensor, global_step, walltime, dataformats: as of `add_image`.
            box_tensor: a row for each box, with the left, upper, right and lower end in pixels.
            rescale: how much larger it shall be.
            labels: what is written in each box; nothing, unless there are as many as boxes.
        """
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        found = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(found, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Write what a figure of matplotlib shows, or a list of figures, and close it."""
        dataformats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, drawn(figure, close), global_step, walltime, dataformats)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Write videos as one, in rows: bytes, or numbers from 0 to 1, by video, time, channel, height and width.

        The file is a GIF, which Pillow writes.
        """
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

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

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write points in space, or triangles between them.

        Args:
            tag: the name.
            vertices: where the points are, `(B, N, 3)`.
            colors: their colours, `(B, N, 3)`, from 0 to 255.
            faces: which three of them each triangle has, `(B, M, 3)`.
            config_dict: how ThreeJS shows it: names of its classes, and their options.
            global_step: to which step it belongs.
            walltime: when it was.

        Raises:
            ValueError: one of them has other than three dimensions.
        """
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

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
        self._get_file_writer().add_graph(found)

    def add_onnx_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: there is no ONNX.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("SummaryWriter.add_onnx_graph is not there: Gradwright does not read ONNX")

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
