"""The messages that PyTorch's SummaryWriter writes of the same values, but for their times."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard import SummaryWriter as Theirs

import gradwright
from gradwright.utils.tensorboard import SummaryWriter as Ours

_RANDOM = np.random.RandomState(0)
NUMBERS = _RANDOM.standard_normal((40, 5)).astype(np.float32)
COLOURS = _RANDOM.uniform(-0.2, 1.2, (11, 3, 4, 5)).astype(np.float32)
LABELS = _RANDOM.randint(0, 2, 60)
CHANCES = _RANDOM.uniform(0, 1, 60).astype(np.float32)
WEIGHTS = _RANDOM.uniform(0, 3, 60)
PICTURE = _RANDOM.uniform(0, 1, (3, 30, 40)).astype(np.float32)
BOXES = np.array([[2.0, 3.0, 30.0, 20.5], [-5.0, 12.0, 39.0, 60.0]], np.float32)
POINTS = _RANDOM.standard_normal((2, 4, 3)).astype(np.float32)
TRIANGLES = np.array([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]] * 2)

Body = Callable[[Any, Any], Any]

BODIES: dict[str, Body] = {
    "scalar": lambda w, t: w.add_scalar("a/b", t.tensor(0.1), 3),
    "scalar, number": lambda w, t: w.add_scalar("a", 0.1),
    "scalar, integer": lambda w, t: w.add_scalar("a", t.tensor([[7]]), t.tensor(4)),
    "scalar, half": lambda w, t: w.add_scalar("a", t.tensor(0.1, dtype=t.bfloat16), 3),
    "scalar, grad": lambda w, t: w.add_scalar("a", t.tensor(0.1, requires_grad=True), 3),
    "scalar, several": lambda w, t: w.add_scalar("a", t.ones(2), 3),
    "scalar, None": lambda w, t: w.add_scalar("a", None),
    "histogram": lambda w, t: w.add_histogram("h", t.tensor(NUMBERS), 1),
    "histogram, double": lambda w, t: w.add_histogram("h", t.tensor(NUMBERS).double() * 1e3, 1),
    "histogram, integers": lambda w, t: w.add_histogram("h", t.arange(50), 1),
    "histogram, array": lambda w, t: w.add_histogram("h", NUMBERS, 1),
    "histogram, one": lambda w, t: w.add_histogram("h", 0.0, 1),
    "histogram, far": lambda w, t: w.add_histogram("h", t.tensor([-1e20, 1e-13, 9e19]), 1),
    "histogram, outside": lambda w, t: w.add_histogram("h", t.tensor([1.0]), 1, bins=[2.0, 3.0, 4.0]),
    "histogram, empty": lambda w, t: w.add_histogram("h", t.empty(0), 1),
    **{
        f"histogram, {bins}, {most}": lambda w, t, bins=bins, most=most: w.add_histogram(
            "h", t.tensor(NUMBERS), 1, bins=bins, max_bins=most
        )
        for bins in ("auto", "fd", "sqrt", 7, 30, "tensorflow")
        for most in (None, 3, 10, 64)
    },
    "histogram, raw": lambda w, t: w.add_histogram_raw("h", 0, 3.0, 2, 3.0, 9.0, [1.0, 3.0], np.array([1, 1]), 4),
    "histogram, raw, wrong": lambda w, t: w.add_histogram_raw("h", 0, 3.0, 2, 3.0, 9.0, [1.0], [1, 1], 4),
    "image": lambda w, t: w.add_image("i", t.tensor(COLOURS[0]), 1),
    "image, HWC": lambda w, t: w.add_image("i", COLOURS[0].transpose(1, 2, 0), 1, dataformats="hwc"),
    "image, bytes": lambda w, t: w.add_image("i", t.arange(60, dtype=t.uint8).reshape(3, 4, 5)),
    "image, double": lambda w, t: w.add_image("i", t.tensor(COLOURS[0]).double()),
    "image, half": lambda w, t: w.add_image("i", t.tensor(COLOURS[0]).bfloat16()),
    "image, grey": lambda w, t: w.add_image("i", t.tensor(COLOURS[0, 0]), dataformats="WH"),
    "image, channel": lambda w, t: w.add_image("i", t.tensor(COLOURS[0, :1])),
    "image, transparent": lambda w, t: w.add_image("i", t.tensor(COLOURS[:4, 0])),
    "image, wrong": lambda w, t: w.add_image("i", t.tensor(COLOURS[0]), dataformats="CH"),
    "image, twice": lambda w, t: w.add_image("i", t.tensor(COLOURS[0]), dataformats="CHH"),
    "images": lambda w, t: w.add_images("i", t.tensor(COLOURS), 1),
    "images, few": lambda w, t: w.add_images("i", t.tensor(COLOURS[:3]), 1),
    "images, NHWC": lambda w, t: w.add_images("i", COLOURS.transpose(0, 2, 3, 1), 1, dataformats="NHWC"),
    "images, grey": lambda w, t: w.add_images("i", t.tensor(COLOURS[:, :1]), 1),
    "images, two channels": lambda w, t: w.add_images("i", t.tensor(COLOURS[:, :2]), 1),
    "boxes": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES), 2),
    "boxes, arrays": lambda w, t: w.add_image_with_boxes("b", PICTURE, BOXES.astype(np.int64), 2),
    "boxes, bytes": lambda w, t: w.add_image_with_boxes(
        "b", t.full((30, 40, 3), 128, dtype=t.uint8), t.tensor(BOXES), dataformats="HWC"
    ),
    "boxes, larger": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES), rescale=2.5),
    "boxes, smaller": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES), rescale=0.5),
    "boxes, no size": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES), rescale=0),
    "boxes, grey": lambda w, t: w.add_image_with_boxes("b", PICTURE[0], BOXES[:1], dataformats="HW"),
    "boxes, labels": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES), labels=["a", "cat"]),
    "boxes, a label": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES[:1]), labels="dog"),
    "boxes, few labels": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.tensor(BOXES), labels=["a"]),
    "boxes, label of a number": lambda w, t: w.add_image_with_boxes("b", PICTURE, BOXES[:1], labels=[3]),
    "boxes, none": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.zeros(0, 4)),
    "boxes, one dimension": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.zeros(4)),
    "boxes, three ends": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE), t.zeros(1, 3)),
    "boxes, two channels": lambda w, t: w.add_image_with_boxes("b", t.tensor(PICTURE[:2]), t.tensor(BOXES)),
    "boxes, wrong format": lambda w, t: w.add_image_with_boxes("b", PICTURE, BOXES, dataformats="HW"),
    "mesh, options that are no JSON": lambda w, t: w.add_mesh("m", t.tensor(POINTS), config_dict={"a": {1}}),
    "mesh, nothing": lambda w, t: w.add_mesh("m", None),
    "mesh, text": lambda w, t: w.add_mesh("m", "x"),
    "text": lambda w, t: w.add_text("t", "größer *als* 1", 2),
    "curve": lambda w, t: w.add_pr_curve("p", t.tensor(LABELS), t.tensor(CHANCES), 1),
    "curve, bools": lambda w, t: w.add_pr_curve("p", LABELS == 1, CHANCES, 1, num_thresholds=11),
    "curve, weights": lambda w, t: w.add_pr_curve(
        "p", t.tensor(LABELS), t.tensor(CHANCES), weights=NUMBERS[:30].flat[:60]
    ),
    "curve, many": lambda w, t: w.add_pr_curve("p", t.tensor(LABELS), t.tensor(CHANCES), num_thresholds=500),
    "curve, raw": lambda w, t: w.add_pr_curve_raw("p", *np.arange(18).reshape(6, 3), 1, num_thresholds=300),
    "lines": lambda w, t: w.add_custom_scalars_multilinechart(["a", "b"], "c", "d"),
    "margin": lambda w, t: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "margin, wrong": lambda w, t: w.add_custom_scalars_marginchart(["a", "b"]),
    "layout": lambda w, t: w.add_custom_scalars(
        {"A": {"x": ["Multiline", ["a"]], "y": ["Margin", ["a", "b", "c"]]}, "B": {"z": ["Multiline", ["b"]]}}
    ),
    "parameters, none": lambda w, t: w.add_hparams({}, {}, run_name="run"),
    "parameters, list": lambda w, t: w.add_hparams([], {}),
    "points": lambda w, t: [
        w.add_embedding(t.tensor(NUMBERS[:11]), list("abcdefghijk"), t.tensor(COLOURS[:, :, :, :4]), 7, "a/%b"),
        w.add_embedding(NUMBERS[:2], [["a", 1], ["b", 2]], metadata_header=["x", "y"]),
        w.add_embedding(t.tensor(NUMBERS[:3]).double(), global_step=123456),
    ],
    "points, texts": lambda w, t: w.add_embedding(t.tensor(NUMBERS), ["a"]),
    "points, header": lambda w, t: w.add_embedding(NUMBERS[:2], [["a", 1], ["b", 2]], metadata_header=["x"]),
    "points, one dimension": lambda w, t: w.add_embedding(t.zeros(3)),
}


def _plain(event: Any) -> Any:
    """A message without its time; what has parts in any order is a text that is sorted."""
    event.ClearField("wall_time")
    found = []
    for value in event.summary.value:
        data = value.metadata.plugin_data
        if data.plugin_name == "hparams":
            found.append(str(HParamsPluginData.FromString(data.content)))
            data.ClearField("content")
    return str(event), found


def _written(writer: Any, library: Any, folder: Path, body: Body) -> Any:
    try:
        with writer(folder) as opened, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            body(opened, library)
    except Exception as error:
        return type(error)
    files: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder).parent)
        if "tfevents" in path.name:
            files[name] = [_plain(Event.FromString(record)) for record in RawEventFileLoader(str(path)).Load()][1:]
        else:
            content = path.read_bytes()
            files[f"{name}/{path.name}"] = sorted(content.split()) if path.suffix == ".pbtxt" else content
    return files


@pytest.mark.parametrize("name", BODIES)
def test_messages(name: str, tmp_path: Path) -> None:
    mine = _written(Ours, gradwright, tmp_path / "ours", BODIES[name])
    yours = _written(Theirs, torch, tmp_path / "theirs", BODIES[name])
    assert mine == yours


def test_purged_steps(tmp_path: Path) -> None:
    files = [
        _written(lambda folder, w=w: w(folder, purge_step=4), library, tmp_path / library.__name__, lambda w, t: None)
        for w, library in ((Ours, gradwright), (Theirs, torch))
    ]
    assert files[0] == files[1]
    assert len(files[0]["."]) == 2


def test_bins(tmp_path: Path) -> None:
    with Ours(tmp_path / "ours") as mine, Theirs(tmp_path / "theirs") as yours:
        assert mine.default_bins == yours.default_bins


class _Given:
    """Models of both libraries that do what a function says with two layers."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward = forward

    def of(self, library: Any) -> Any:
        nn, forward = library.nn, self.forward

        class Net(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.Linear(4, 3)
                self.rest = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU(), nn.Dropout(0.5), nn.Linear(3, 3))

            def forward(self, *args: Any) -> Any:
                return forward(self, library, *args)

        return Net()


def _looped(m: Any, t: Any, x: Any) -> Any:
    x = m.first(x)
    for _ in range(3):
        x = m.rest(x)
        if x.shape[1] == 3:
            x = x * 2
    return x


MODELS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "layers": (lambda m, t, x: m.rest(m.first(x)), lambda t: t.ones(2, 4)),
    "control": (_looped, lambda t: t.ones(2, 4)),
    "two inputs": (lambda m, t, x, y: m.first(x) @ m.first(y).t(), lambda t: (t.ones(2, 4), t.ones(5, 4))),
    "list of inputs": (lambda m, t, x, y: m.first(x + y), lambda t: [t.ones(2, 4), t.ones(2, 4)]),
    "inputs in one": (lambda m, t, x: m.first(x[0] + x[1]), lambda t: ((t.ones(2, 4), t.ones(2, 4)),)),
    "dict": (lambda m, t, x: m.first(x["a"]), lambda t: {"a": t.ones(2, 4)}),
    "results": (lambda m, t, x: (m.first(x), [x.sum()]), lambda t: t.ones(2, 4)),
    "cat": (lambda m, t, x: t.cat([m.first(x), x], 1).softmax(1), lambda t: t.ones(2, 4)),
    "result is an input": (lambda m, t, x: x, lambda t: t.ones(2, 4)),
    "no input": (lambda m, t: m.first.weight.sum(), lambda t: ()),
    "dict as result": (lambda m, t, x: {"a": m.first(x)}, lambda t: t.ones(2, 4)),
    "None as result": (lambda m, t, x: (m.first(x), None), lambda t: t.ones(2, 4)),
    "number as result": (lambda m, t, x: 3, lambda t: t.ones(2, 4)),
    "None": (lambda m, t, x: m.first(x), lambda t: None),
    "None among inputs": (lambda m, t, x, y: m.first(x), lambda t: (t.ones(2, 4), None)),
    "number among inputs": (lambda m, t, x, y: m.first(x) * y, lambda t: (t.ones(2, 4), 3)),
    "array": (lambda m, t, x: m.first(x), lambda t: np.ones((2, 4))),
    "wrong shape": (lambda m, t, x: m.first(x), lambda t: t.ones(2, 5)),
    "too many inputs": (lambda m, t, x: m.first(x), lambda t: (t.ones(2, 4), t.ones(2, 4))),
    "error of the model": (lambda m, t, x: int("x"), lambda t: t.ones(2, 4)),
}


def _graph_of(writer: Any, library: Any, folder: Path, name: str) -> Any:
    """Which operators are in which Modules, and what PyTorch names as we do; or the class of an error."""
    forward, given = MODELS[name]
    try:
        with writer(folder) as opened, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of what another trace might do otherwise; made errors, they end as SystemError
            opened.add_graph(_Given(forward).of(library), given(library))
    except Exception as error:
        return type(error)
    (path,) = folder.iterdir()
    _, written, *_ = (Event.FromString(record) for record in RawEventFileLoader(str(path)).Load())
    found = GraphDef.FromString(written.graph_def)
    # A tuple of results is one there.
    shapes = name != "results" and [
        node.attr["_output_shapes"].SerializeToString() for node in found.node if node.name.startswith("output/")
    ]
    operators = sorted(
        (node.name.rpartition("/")[0], node.op)
        for node in found.node
        # Dicts are not taken apart by operators here.
        if node.op.startswith("aten::") and node.op != "aten::__getitem__"
    )
    return operators, shapes, found.versions


@pytest.mark.parametrize("name", MODELS)
def test_graphs(name: str, tmp_path: Path) -> None:
    mine = _graph_of(Ours, gradwright, tmp_path / "ours", name)
    yours = _graph_of(Theirs, torch, tmp_path / "theirs", name)
    assert mine == yours


def test_graphs_of_other_things(tmp_path: Path) -> None:
    for writer, library in ((Ours, gradwright), (Theirs, torch)):
        with writer(tmp_path / library.__name__) as opened, pytest.raises(AttributeError):
            opened.add_graph(lambda x: x, library.ones(1))


def test_dicts_as_results(tmp_path: Path) -> None:
    for writer, library in ((Ours, gradwright), (Theirs, torch)):
        model = _Given(lambda m, t, x: {"a": m.first(x)}).of(library)
        with writer(tmp_path / library.__name__) as opened:
            opened.add_graph(model, library.ones(2, 4), use_strict_trace=False)
