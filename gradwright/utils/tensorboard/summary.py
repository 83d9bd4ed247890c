"""The messages that TensorBoard reads: a function for each kind of what is written."""

from __future__ import annotations

import io
import json
import warnings
import wave
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.struct_pb2 import ListValue, Value
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar.layout_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from tensorboard.plugins.hparams import api_pb2 as parameters
from tensorboard.plugins.hparams import metadata as names
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.mesh import metadata as meshes
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from gradwright.utils.tensorboard.arrays import Array, as_array
from gradwright.utils.tensorboard.images import frames, gif, pixels, png
from gradwright.utils.tensorboard.statistics import buckets, precision_and_recall
from runtime import ops
from runtime.base import dtypes
from runtime.base.creation import as_tensor
from runtime.base.tensor import Tensor
from runtime.base.types import DType

__all__ = [
    "audio",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]

# The most that a message holds, and the most thresholds that TensorBoard reads.
_MOST_BYTES = 2**31
_MOST_THRESHOLDS = 127
_LOUDEST = 2**15 - 1

# The types of elements by what they are in messages, and the field that has the numbers.
_FIELDS: Mapping[DType, tuple[str, str]] = {
    dtypes.float16: ("DT_HALF", "half_val"),
    dtypes.bfloat16: ("DT_BFLOAT16", "half_val"),
    dtypes.float32: ("DT_FLOAT", "float_val"),
    dtypes.float64: ("DT_DOUBLE", "double_val"),
    dtypes.int8: ("DT_INT8", "int_val"),
    dtypes.int16: ("DT_INT16", "int_val"),
    dtypes.int32: ("DT_INT32", "int_val"),
    dtypes.int64: ("DT_INT64", "int64_val"),
    dtypes.uint8: ("DT_UINT8", "uint32_val"),
    dtypes.bool: ("DT_BOOL", "bool_val"),
    dtypes.complex64: ("DT_COMPLEX64", "scomplex_val"),
    dtypes.complex128: ("DT_COMPLEX128", "dcomplex_val"),
}


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Summary:
    """One number.

    Raises:
        AssertionError: there are several.
    """
    found = as_array(tensor).squeeze()
    if found.ndim:
        raise AssertionError(f"Tensor should contain one element (0 dimensions), but it has {found.size}")
    number = float(found)
    if not new_style:
        return _summary(tag=name, simple_value=number)
    if double_precision:
        value = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        value = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _summary(tag=name, tensor=value, metadata=_of_plugin("scalars"))


def tensor_proto(tag: str, tensor: Tensor) -> Summary:
    """A whole Tensor.

    Raises:
        ValueError: it is too large, or messages do not have its element type.
    """
    if tensor.numel() * tensor.itemsize >= _MOST_BYTES:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field = _FIELDS[tensor.dtype]
    plain = ops.view_as_real(tensor.detach()) if tensor.dtype.is_complex else tensor.detach()
    numbers = plain.flatten().tolist()
    if field == "half_val":
        # Not their own sixteen bits: PyTorch writes those of the number in float32.
        numbers = np.array(numbers, np.float32).view(np.int32).tolist()
    value = TensorProto(dtype=dtype, tensor_shape=_shape(tensor.shape), **{field: numbers})
    return _summary(tag=tag, metadata=_of_plugin("tensor"), tensor=value)


def histogram(name: str, values: Any, bins: str | int | Sequence[float], max_bins: int | None = None) -> Summary:
    """How values are distributed over bins, which `numpy.histogram` describes.

    Raises:
        ValueError: there are no values, or none in any bin.
    """
    numbers = as_array(values).astype(np.float64).reshape(-1)
    counts, limits = buckets(numbers, bins, max_bins)
    sums = numbers.sum(), numbers.dot(numbers)
    return histogram_raw(name, numbers.min(), numbers.max(), numbers.size, *sums, limits.tolist(), counts.tolist())


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Summary:
    """A histogram that somebody has made."""
    found = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return _summary(tag=name, histo=found)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """An image, or several in one, which is larger by the factor `rescale`.

    Raises:
        AssertionError: `dataformats` does not name the dimensions.
        ImportError: Pillow is not installed.
    """
    found = pixels(as_array(tensor), dataformats)
    return _image(tag, found.shape, png(found, rescale))


def image_boxes(
    tag: str,
    tensor_image: Any,
    tensor_boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: Sequence[str] | None = None,
) -> Summary:
    """An image with boxes in it: a row each, with the left, upper, right and lower end in pixels.

    Raises:
        AssertionError: `dataformats` does not name the dimensions.
        ImportError: Pillow is not installed.
        IndexError: the boxes are no rows of four.
    """
    found = pixels(as_array(tensor_image), dataformats)
    return _image(tag, found.shape, png(found, rescale, as_array(tensor_boxes), labels))


def video(tag: str, tensor: Any, fps: float = 4) -> Summary:
    """Videos in one, by video, time, channel, height and width, with so many frames in a second.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: there are not five dimensions, or there is nothing to show.
    """
    found = frames(as_array(tensor))
    return _image(tag, found.shape[1:], gif(found, fps))


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Mapping[str, Any] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> Summary:
    """Points in space, and what colours they have and which three of them are triangles, if these are given.

    Raises:
        TypeError: `config_dict` cannot be written as JSON.
        ValueError: something has other than three dimensions.
    """
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    kinds = (vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)
    parts = [(as_tensor(values), kind) for values, kind in kinds if values is not None]
    present = meshes.get_components_bitmask([kind for _, kind in parts])
    found = Summary()
    for values, kind in parts:
        sizes = tuple(values.shape)
        about = meshes.create_summary_metadata(tag, display_name, kind, present, sizes, description, config)
        numbers = TensorProto(dtype="DT_FLOAT", float_val=values.reshape(-1).tolist(), tensor_shape=_shape(sizes))
        found.value.add(tag=meshes.get_instance_name(tag, kind), tensor=numbers, metadata=about)
    return found


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel: numbers from -1 to 1, so many in a second.

    Raises:
        AssertionError: there are several channels.
    """
    samples = as_array(tensor).squeeze()
    if np.abs(samples).max() > 1:
        warnings.warn("the sound is louder than 1 somewhere, and is cut off there", UserWarning, stacklevel=3)
        samples = samples.clip(-1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes((samples * _LOUDEST).astype("<i2").tobytes())
    coded = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=samples.size,
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return _summary(tag=tag, audio=coded)


def text(tag: str, text: str) -> Summary:
    """A text, which TensorBoard shows as Markdown."""
    value = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape([1]))
    return _summary(tag=f"{tag}/text_summary", metadata=_of_plugin("text", TextPluginData(version=0)), tensor=value)


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = _MOST_THRESHOLDS, weights: Any = None
) -> Summary:
    """Precision and recall of predictions, which are probabilities, by the threshold from which on they say yes."""
    count = min(num_thresholds, _MOST_THRESHOLDS)
    given = 1.0 if weights is None else as_array(weights)
    return _curve(tag, precision_and_recall(as_array(labels), as_array(predictions), count, given), count)


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = _MOST_THRESHOLDS,
    weights: Any = None,
) -> Summary:
    """A curve of precision and recall that somebody has made."""
    rows = (tp, fp, tn, fn, precision, recall)
    data = np.stack([as_array(row) if isinstance(row, Tensor) else np.asarray(row) for row in rows])
    return _curve(tag, data, min(num_thresholds, _MOST_THRESHOLDS))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Summary:
    """Which scalars are shown together: by category and title, `Multiline` or `Margin` and a list of tags.

    Raises:
        AssertionError: a margin has other than three tags.
    """
    categories = [
        Category(title=title, chart=[_chart(name, kind, tags) for name, (kind, tags) in charts.items()])
        for title, charts in layout.items()
    ]
    content = Layout(category=categories).SerializeToString()
    value = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return _summary(tag="custom_scalars__config__", tensor=value, metadata=_of_plugin("custom_scalars"))


def hparams(
    hparam_dict: dict[str, Any],
    metric_dict: dict[str, Any],
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Summary, Summary, Summary]:
    """Three messages: what was tried with which results, the values of this time, and that it has ended.

    Raises:
        TypeError: an argument is no dict, or the values that a parameter may have are no list of its type.
        ValueError: a parameter is neither a number nor a text.
    """
    domains = hparam_domain_discrete or {}
    for name, given in (
        ("hparam_dict", hparam_dict),
        ("metric_dict", metric_dict),
        ("hparam_domain_discrete", domains),
    ):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for name, values in domains.items():
        kind = type(hparam_dict.get(name))
        if name not in hparam_dict or not (isinstance(values, list) and all(isinstance(v, kind) for v in values)):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )

    start = SessionStartInfo()
    described = []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        field, type_name, plain = _parameter(value)
        setattr(start.hparams[name], field, plain)
        domain = None
        if name in domains and not isinstance(value, Tensor):
            domain = ListValue(values=[Value(**{field: each}) for each in domains[name]])
        kind = parameters.DataType.Value(type_name)
        described.append(parameters.HParamInfo(name=name, type=kind, domain_discrete=domain))
    metrics = [parameters.MetricInfo(name=parameters.MetricName(tag=tag)) for tag in metric_dict]
    experiment = parameters.Experiment(hparam_infos=described, metric_infos=metrics)
    end = SessionEndInfo(status=parameters.Status.Value("STATUS_SUCCESS"))

    def message(tag: str, **content: Any) -> Summary:
        data = HParamsPluginData(version=names.PLUGIN_DATA_VERSION, **content)
        return _summary(tag=tag, metadata=_of_plugin(names.PLUGIN_NAME, data))

    return (
        message(names.EXPERIMENT_TAG, experiment=experiment),
        message(names.SESSION_START_INFO_TAG, session_start_info=start),
        message(names.SESSION_END_INFO_TAG, session_end_info=end),
    )


def _parameter(value: Any) -> tuple[str, str, Any]:
    """The field that a parameter is written to, its type, and the value; True is 1."""
    if isinstance(value, (int, float)):
        return "number_value", "DATA_TYPE_FLOAT64", value
    if isinstance(value, str):
        return "string_value", "DATA_TYPE_STRING", value
    if isinstance(value, Tensor):
        return "number_value", "DATA_TYPE_FLOAT64", as_array(value).reshape(-1)[0]
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _summary(**value: Any) -> Summary:
    return Summary(value=[Summary.Value(**value)])


def _image(tag: str, sizes: Sequence[int], file: bytes) -> Summary:
    """An image or a video that is coded: by its height, width and channels, before it was made larger."""
    height, width, channels = sizes
    coded = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file)
    return _summary(tag=tag, image=coded)


def _of_plugin(name: str, content: Any = None) -> SummaryMetadata:
    """What says which part of TensorBoard shows a value."""
    data = b"" if content is None else content.SerializeToString()
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=data))


def _shape(sizes: Iterable[int]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def _curve(tag: str, data: Array, thresholds: int) -> Summary:
    value = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(data.shape))
    content = PrCurvePluginData(version=0, num_thresholds=thresholds)
    return _summary(tag=tag, metadata=_of_plugin("pr_curves", content), tensor=value)


def _chart(title: str, kind: str, tags: Sequence[str]) -> Chart:
    if kind != "Margin":
        return Chart(title=title, multiline=MultilineChartContent(tag=tags))
    if len(tags) != 3:
        raise AssertionError(f"a margin has three tags, but {len(tags)} were given")
    value, lower, upper = tags
    series = MarginChartContent.Series(value=value, lower=lower, upper=upper)
    return Chart(title=title, margin=MarginChartContent(series=[series]))
