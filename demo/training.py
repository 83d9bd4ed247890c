"""A small classifier of handwritten digits, written with generated operators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.datasets import load_digits

import gradwright as torch
from demo.progress import track

functional = torch.nn.functional

EPOCHS = 30
BATCH = 32
WIDTHS = (64, 96, 48, 10)
LEARNING_RATE = 0.05
MOMENTUM = 0.9
GRID = (4, 6)  # of digits in the picture
DPI = 80


@dataclass
class Data:
    """Digits of 8 by 8 pixels, values 0 to 1, in a fixed random order; every fifth one is for the test."""

    x_train: torch.Tensor
    y_train: torch.Tensor
    x_test: torch.Tensor
    y_test: torch.Tensor


@dataclass
class History:
    """What the training did, an entry for each epoch; and what came of it for the digits of the test."""

    loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)
    digits: np.ndarray = field(default_factory=lambda: np.zeros((0, 8, 8)))
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    predictions: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


def load() -> Data:
    """The digits that scikit-learn ships."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x = (pixels[order] / 16).astype(np.float32)
    y = labels[order].astype(np.int64)
    test = np.arange(len(y)) % 5 == 0
    return Data(*(torch.tensor(part) for part in (x[~test], y[~test], x[test], y[test])))


class Classifier:
    """linear, layer_norm, gelu, dropout; twice; linear."""

    def __init__(self) -> None:
        pairs = list(itertools.pairwise(WIDTHS))
        self.weights = [(torch.randn(o, i) * math.sqrt(2 / i)).requires_grad_() for i, o in pairs]
        self.biases = [torch.zeros(o).requires_grad_() for _, o in pairs]
        self.parameters = [*self.weights, *self.biases]

    def __call__(self, x: torch.Tensor, training: bool) -> torch.Tensor:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = functional.linear(x, weight, bias)
            x = functional.gelu(functional.layer_norm(x, (x.shape[-1],)))
            x = functional.dropout(x, p=0.1, training=training)
        return functional.linear(x, self.weights[-1], self.biases[-1])

    def predictions(self, x: torch.Tensor) -> torch.Tensor:
        """The digit that it takes each picture for."""
        with torch.no_grad():
            return self(x, training=False).argmax(1)

    def accuracy(self, x: torch.Tensor, y: torch.Tensor) -> float:
        """The part of the digits that it names right."""
        return float((self.predictions(x) == y).float().mean())


def train(console: Console) -> History:
    """Stochastic gradient descent with momentum, its rate falling to zero along a cosine."""
    torch.manual_seed(0)
    data, model, history = load(), Classifier(), History()
    velocities = [torch.zeros_like(p) for p in model.parameters]

    def status() -> str:
        return f"loss {history.loss[-1]:.3f}, test accuracy {history.test_accuracy[-1]:.1%}"

    for epoch in track(console, range(EPOCHS), EPOCHS, "training", status):
        rate = LEARNING_RATE * (1 + math.cos(math.pi * epoch / EPOCHS)) / 2
        losses = []
        for x, y in _batches(data):
            loss = functional.cross_entropy(model(x, training=True), y)
            loss.backward()
            with torch.no_grad():
                for p, velocity in zip(model.parameters, velocities, strict=True):
                    assert p.grad is not None
                    velocity.mul_(MOMENTUM).add_(p.grad)
                    p -= rate * velocity
                    p.grad = None
            losses.append(loss.item())
        history.loss.append(float(np.mean(losses)))
        history.train_accuracy.append(model.accuracy(data.x_train, data.y_train))
        history.test_accuracy.append(model.accuracy(data.x_test, data.y_test))
    history.digits = data.x_test.numpy().reshape(-1, 8, 8)
    history.labels = data.y_test.numpy()
    history.predictions = model.predictions(data.x_test).numpy()
    return history


def _batches(data: Data) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    order = torch.randperm(data.x_train.shape[0])
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        yield data.x_train[chosen], data.y_train[chosen]


def plot(history: History, path: Path) -> None:
    """Save the curves of the loss and the accuracy, and beside them digits with what they are taken for."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    epochs = range(1, len(history.loss) + 1)
    figure = plt.figure(figsize=(12, 3.6), layout="constrained")
    curves, digits = figure.subfigures(1, 2, width_ratios=(3, 2))
    left, right = curves.subplots(1, 2)
    left.plot(epochs, history.loss)
    left.set(title="Loss", xlabel="epoch", ylabel="cross entropy", yscale="log")
    right.plot(epochs, history.train_accuracy, label="training digits")
    right.plot(epochs, history.test_accuracy, label="test digits")
    right.axhline(0.95, color="grey", linewidth=0.8, linestyle="--", label="95%")
    right.set(title="Accuracy", xlabel="epoch")
    right.yaxis.set_major_formatter(lambda value, position: f"{value:.0%}")
    right.legend(loc="lower right")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    digits.suptitle("Test digits and predictions, wrong ones in red", fontsize="medium")
    for axes, shown in zip(digits.subplots(*GRID).flat, _chosen(history), strict=False):
        wrong = history.predictions[shown] != history.labels[shown]
        axes.imshow(history.digits[shown], cmap="gray_r")
        axes.set_title(str(history.predictions[shown]), fontsize="small", color="red" if wrong else "green", pad=1)
        axes.axis("off")
    figure.savefig(path, dpi=DPI, metadata={"Software": None})  # so that the same numbers give the same file
    plt.close(figure)


def _chosen(history: History) -> np.ndarray:
    """The digits to show, in their order: all that are wrong, as far as there is room, and others."""
    count = GRID[0] * GRID[1]
    wrong = np.flatnonzero(history.predictions != history.labels)[: count // 2]
    right = np.flatnonzero(history.predictions == history.labels)[: count - len(wrong)]
    return np.sort(np.concatenate([wrong, right]))
