"""Files for TensorBoard, read back by TensorBoard's own reader."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

import gradwright
from gradwright.utils.tensorboard import FileWriter, SummaryWriter, summary
from support import programs


def read(folder: Path) -> Any:
    found = EventAccumulator(str(folder), size_guidance={"images": 0, "tensors": 0, "histograms": 0, "audio": 0})
    found.Reload()
    return found


def events(folder: Path) -> list[Any]:
    """What a program wrote to the only file of a folder, after the line that names the format."""
    (path,) = (path for path in folder.iterdir() if "tfevents" in path.name)
    first, *rest = LegacyEventFileLoader(str(path)).Load()
    assert first.file_version == "brain.Event:2"
    return rest


def values(folder: Path) -> list[Any]:
    return [value for event in events(folder) for value in event.summary.value]


def test_scalars(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", gradwright.tensor([[step / 4]], requires_grad=True), step, walltime=step + 10.5)
        writer.add_scalar("number", 0.1, gradwright.tensor(7))
        writer.add_scalar("half", gradwright.tensor(1.5, dtype=gradwright.bfloat16))
        writer.add_scalar("array", np.array([3]), np.int64(2))
    found = read(tmp_path)
    assert [(e.wall_time, e.step, e.value) for e in found.Scalars("loss")] == [
        (10.5, 0, 0),
        (11.5, 1, 0.25),
        (12.5, 2, 0.5),
    ]
    assert [(e.step, e.value) for e in found.Scalars("number")] == [(7, pytest.approx(0.1))]
    assert found.Scalars("half")[0].value == 1.5
    assert (found.Scalars("array")[0].step, found.Scalars("array")[0].value) == (2, 3.0)
    with pytest.raises(AssertionError, match="scalar should be 0D"):
        writer.add_scalar("several", gradwright.ones(2))
    with pytest.raises(NotImplementedError, match="expected numpy array or torch tensor"):
        writer.add_scalar("object", object())


def test_several_scalars_go_to_folders_of_their_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_scalars("run/a", {"x": step, "y": gradwright.tensor(2.0 * step)}, step)
    assert [e.value for e in read(tmp_path / "run" / "a" / "x").Scalars("run/a")] == [0.0, 1.0]
    assert [e.value for e in read(tmp_path / "run" / "a" / "y").Scalars("run/a")] == [0.0, 2.0]


def test_histograms(tmp_path: Path) -> None:
    numbers = gradwright.tensor([[-1.0, 0.0, 0.5], [0.5, 0.5, 2.0]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("tensorflow", numbers, 1)
        writer.add_histogram("four", numbers, 1, bins=4)
        writer.add_histogram("two", numbers, 1, bins=5, max_bins=2)
        writer.add_histogram_raw("raw", 0.0, 3.0, 2, 3.0, 9.0, [1.0, 3.0], [1, 1])
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("empty", gradwright.empty(0))
        with pytest.raises(ValueError, match="histogram is empty"):
            writer.add_histogram("outside", numbers, bins=[5.0, 6.0, 7.0])
        with pytest.raises(ValueError, match="len\\(bucket_limits\\)"):
            writer.add_histogram_raw("raw", 0.0, 3.0, 2, 3.0, 9.0, [1.0], [1, 1])
    found = read(tmp_path)
    whole = found.Histograms("tensorflow")[0].histogram_value
    assert (whole.min, whole.max, whole.num, whole.sum, whole.sum_squares) == (-1.0, 2.0, 6.0, 2.5, 5.75)
    assert sum(whole.bucket) == 6
    assert whole.bucket[0] == 0
    assert whole.bucket_limit[0] < -1.0 <= whole.bucket_limit[1]
    assert whole.bucket[-1] == 1
    four = found.Histograms("four")[0].histogram_value
    assert four.bucket_limit == [-1.0, -0.25, 0.5, 1.25, 2.0]
    assert four.bucket == [0, 1, 1, 3, 1]
    two = found.Histograms("two")[0].histogram_value
    assert two.bucket_limit == pytest.approx([-1.0, 0.2, 1.4, 2.0])
    assert two.bucket == [0, 2, 3, 1]
    assert found.Histograms("raw")[0].histogram_value.bucket == [1, 1]


def picture(value: Any) -> np.ndarray:
    with Image.open(io.BytesIO(value.image.encoded_image_string)) as found:
        assert found.format == "PNG"
        return np.asarray(found)


def test_images(tmp_path: Path) -> None:
    colours = gradwright.arange(24, dtype=gradwright.uint8).reshape(3, 2, 4)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("bytes", colours)
        writer.add_image("numbers", colours.permute(1, 2, 0).double() / 20, dataformats="HWC")
        writer.add_image("grey", gradwright.tensor([[0.0, 0.5, 1.0]]), dataformats="HW")
        writer.add_image("channel", gradwright.tensor([[[0.0, 0.5, 1.0]]]))
        writer.add_images("many", gradwright.arange(10.0).reshape(10, 1, 1, 1) / 10)
    whole, numbers, grey, channel, many = values(tmp_path)
    assert (whole.image.height, whole.image.width, whole.image.colorspace) == (2, 4, 3)
    assert picture(whole).tolist() == colours.permute(1, 2, 0).tolist()
    assert picture(numbers)[1, 3].tolist() == [89, 191, 255]
    assert picture(grey).tolist() == picture(channel).tolist() == [[[0] * 3, [127] * 3, [255] * 3]]
    assert picture(many)[:, :, 0].tolist() == [[0, 25, 51, 76, 102, 127, 153, 178], [204, 229, 0, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("shape", "dataformats"),
    [((3, 2), "CHW"), ((1, 2, 2), "CHH"), ((2, 2, 4, 4), "NCHW")],
)
def test_wrong_images(tmp_path: Path, shape: tuple[int, ...], dataformats: str) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(AssertionError):
        writer.add_image("x", gradwright.zeros(shape), dataformats=dataformats)


def test_text(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("notes", "größer *als* 1", 4)
    found = read(tmp_path).Tensors("notes/text_summary")
    assert [(e.step, list(e.tensor_proto.string_val)) for e in found] == [(4, ["größer *als* 1".encode()])]


def test_precision_and_recall(tmp_path: Path) -> None:
    labels, predictions = gradwright.tensor([0, 1, 1, 0]), gradwright.tensor([0.1, 0.9, 0.4, 0.6])
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("curve", labels, predictions, 3, num_thresholds=3)
        writer.add_pr_curve(
            "weighted", labels, predictions, num_thresholds=1000, weights=gradwright.tensor([2, 1, 1, 1])
        )
        writer.add_pr_curve_raw("raw", [1], [2], [3], [4], [0.5], [0.25], num_thresholds=1)
    curve, weighted, raw = (value.tensor for value in values(tmp_path))
    true, false, negative, missed, precision, recall = np.reshape(curve.float_val, (6, 3)).tolist()
    assert (true, false, negative, missed) == ([2, 1, 0], [2, 1, 0], [0, 1, 2], [0, 1, 2])
    assert precision == [0.5, 0.5, 0.0]
    assert recall == [1.0, 0.5, 0.0]
    assert [dim.size for dim in weighted.tensor_shape.dim] == [6, 127]
    assert weighted.float_val[127] == 3
    assert list(raw.float_val) == [1, 2, 3, 4, 0.5, 0.25]


def test_parameters(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        tried = {"lr": 0.1, "name": "sgd", "flag": True, "none": None, "t": gradwright.tensor([2.0])}
        writer.add_hparams(tried, {"accuracy": 0.5}, {"name": ["sgd", "adam"]}, "first", 3)
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([1], {})  # type: ignore[arg-type]
    experiment, start, end, metric = values(tmp_path / "first")

    def content(value: Any) -> Any:
        assert value.metadata.plugin_data.plugin_name == "hparams"
        return HParamsPluginData.FromString(value.metadata.plugin_data.content)

    found = content(start).session_start_info.hparams
    assert {name: found[name].WhichOneof("kind") for name in found} == {
        "lr": "number_value", "name": "string_value", "flag": "bool_value", "t": "number_value",
    }  # fmt: skip
    assert (found["lr"].number_value, found["name"].string_value, found["t"].number_value) == (0.1, "sgd", 2.0)
    described = content(experiment).experiment
    assert [info.name for info in described.hparam_infos] == ["lr", "name", "flag", "t"]
    assert [info.name.tag for info in described.metric_infos] == ["accuracy"]
    assert content(end).HasField("session_end_info")
    assert (metric.tag, metric.simple_value) == ("accuracy", 0.5)


def test_points(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        points = gradwright.tensor([[1.0, 2.5], [3.0, 4.0], [5.0, 6.0]])
        writer.add_embedding(points, ["a", "b", 3], gradwright.zeros(3, 3, 4, 4), 7, "some/tag")
        writer.add_embedding(points, [["a", 1], ["b", 2], ["c", 3]], metadata_header=["letter", "number"])
        for wrong in (
            {"metadata": ["a"]},
            {"label_img": gradwright.zeros(2, 3, 4, 4)},
            {"metadata": [["a", 1]] * 3, "metadata_header": ["letter"]},
        ):
            with pytest.raises(AssertionError):
                writer.add_embedding(points, global_step=1, **wrong)  # type: ignore[arg-type]
        with pytest.raises(AssertionError, match="2D"):
            writer.add_embedding(gradwright.zeros(3), global_step=2)
    first = tmp_path / "00007" / "some%2ftag"
    assert (first / "tensors.tsv").read_text() == "1.0\t2.5\n3.0\t4.0\n5.0\t6.0\n"
    assert (first / "metadata.tsv").read_text() == "a\nb\n3\n"
    assert (first / "sprite.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "00000/default/metadata.tsv").read_text() == "letter\tnumber\na\t1\nb\t2\nc\t3\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2
    assert 'tensor_name: "some/tag:00007"' in config


def test_layouts(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_custom_scalars_multilinechart(["a", "b"], "group", "both")
        writer.add_custom_scalars_marginchart(["a", "low", "high"])
        with pytest.raises(AssertionError):
            writer.add_custom_scalars_marginchart(["a", "low"])
    lines, margin = (Layout.FromString(value.tensor.string_val[0]).category[0] for value in values(tmp_path))
    assert (lines.title, lines.chart[0].title, list(lines.chart[0].multiline.tag)) == ("group", "both", ["a", "b"])
    assert margin.chart[0].margin.series[0].upper == "high"


def test_figures(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("one", Figure(figsize=(2, 1), dpi=50, facecolor="red"))
        writer.add_figure("two", [Figure(figsize=(2, 1), dpi=50)] * 2)
    one, two = values(tmp_path)
    assert picture(one)[0, 0].tolist() == [255, 0, 0]
    assert (one.image.height, one.image.width) == (50, 100)
    assert (two.image.height, two.image.width) == (50, 200)


def test_folders_of_their_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_here", filename_suffix=".end") as writer:
        folder = writer.get_logdir()
    assert isinstance(folder, str)
    assert folder.startswith(f"runs{os.sep}")
    assert folder.endswith("_here")
    (path,) = Path(folder).iterdir()
    assert path.name.endswith(".end")


def test_what_came_after_a_step_is_purged(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, purge_step=5) as writer:
        writer.add_scalar("x", 1.0, 5)
    version, start, number = events(tmp_path)
    assert (version.step, version.file_version) == (5, "brain.Event:2")
    assert (start.step, start.session_log.status) == (5, 1)
    assert number.summary.value[0].tag == "x"


def test_closing_and_writing_again(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("x", 1.0)
    writer.close()
    assert len(read(tmp_path).Scalars("x")) == 1
    writer.close()
    writer.flush()
    assert writer.file_writer is None
    writer.add_scalar("y", 2.0)
    writer.close()
    assert read(tmp_path).Scalars("y")[0].value == 2.0


def test_a_file_alone(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path)
    assert writer.get_logdir() == str(tmp_path)
    writer.add_summary(summary.scalar("x", 3), 1)
    writer.close()
    assert read(tmp_path).Scalars("x")[0].value == 3.0


def test_images_with_boxes(tmp_path: Path) -> None:
    grey = gradwright.full((3, 20, 30), 0.5)
    boxes = gradwright.tensor([[4, 3, 20, 15]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_image_with_boxes("box", grey, boxes, 3)
        writer.add_image_with_boxes("label", grey, boxes, labels="x")
        writer.add_image_with_boxes("wrong", grey, boxes, labels=["x", "y"])
        writer.add_image_with_boxes("large", grey, boxes.numpy(), rescale=2)
        with pytest.raises(IndexError):
            writer.add_image_with_boxes("x", grey, boxes[0])
    box, label, wrong, large = values(tmp_path)
    drawn = picture(box)
    red = (drawn == [255, 0, 0]).all(2)
    assert red[3, 4:21].all()
    assert red[15, 4:21].all()
    assert red[3:16, 4].all()
    assert red[3:16, 20].all()
    assert (drawn[~red] == 127).all()
    assert not red[6:13, 7:18].any()
    assert (picture(label) == [255, 0, 0]).all(2).sum() > red.sum()
    assert picture(wrong).tolist() == drawn.tolist()
    assert (large.image.height, large.image.width, picture(large).shape) == (20, 30, (40, 60, 3))


def test_meshes(tmp_path: Path) -> None:
    points = gradwright.arange(12.0).reshape(1, 4, 3).requires_grad_()
    faces = gradwright.tensor([[[0, 1, 2]]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("m", points, faces=faces, config_dict={"b": 1, "a": 2}, global_step=4)
    vertex, face = values(tmp_path)
    assert (vertex.tag, face.tag) == ("m_1", "m_2")
    assert list(vertex.tensor.float_val) == list(range(12))
    assert [dim.size for dim in face.tensor.tensor_shape.dim] == [1, 1, 3]
    for value, kind in ((vertex, MeshPluginData.VERTEX), (face, MeshPluginData.FACE)):
        about = MeshPluginData.FromString(value.metadata.plugin_data.content)
        assert (value.metadata.plugin_data.plugin_name, about.name, about.content_type) == ("mesh", "m", kind)
        assert about.json_config == '{"a": 2, "b": 1}'


def test_the_names_of_pytorch(tmp_path: Path) -> None:
    program = """
from gradwright import install_as_torch
install_as_torch()
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.writer import SummaryWriter as Again
from torch.utils.tensorboard.summary import hparams
print(SummaryWriter is Again, callable(hparams))
"""
    assert programs.run(program) == "True True\n"


def test_without_tensorboardx() -> None:
    program = """
import sys
sys.modules["tensorboardX"] = None
import gradwright.utils.data
for text in ("import {0} as t; t.SummaryWriter", "from {0} import SummaryWriter"):
    try:
        exec(text.format("gradwright.utils.tensorboard"))
    except ImportError as error:
        print(error.name, error)
"""
    line = "tensorboardX utils.tensorboard needs the package tensorboardX: pip install 'gradwright[tensorboard]'\n"
    assert programs.run(program) == line * 2


def test_pytorch_is_not_loaded() -> None:
    """TensorboardX imports it where it is installed; then it would be too late for `install_as_torch`."""
    program = """
import sys
from gradwright.utils.tensorboard import SummaryWriter
print("torch" in sys.modules)
"""
    assert programs.run(program) == "False\n"
