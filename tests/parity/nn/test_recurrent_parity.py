"""Recurrent networks and packed sequences beside PyTorch: values, derivatives, state dicts, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwright
from support.both import assert_same, with_weights
from support.kernel_cases import cases

MODULES = """
nn.RNN(3, 4) | nn.RNN(3, 4, 2, "relu", bidirectional=True) | nn.RNN(3, 4, nonlinearity="relu", bias=False)
nn.GRU(3, 4) | nn.GRU(3, 4, 2, bidirectional=True, batch_first=True) | nn.GRU(3, 4, 2, bias=False)
nn.LSTM(3, 4) | nn.LSTM(3, 4, 2, bidirectional=True) | nn.LSTM(3, 4, proj_size=2) | nn.LSTM(3, 4, batch_first=True)
nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2, bias=False) | nn.GRU(3, 4, 2, dropout=1.0)
nn.RNNBase("GRU", 3, 4)
"""
CELLS = """
nn.RNNCell(3, 4) | nn.RNNCell(3, 4, nonlinearity="relu") | nn.RNNCell(3, 4, False) | nn.GRUCell(3, 4)
nn.GRUCell(3, 4, bias=False) | nn.LSTMCell(3, 4) | nn.LSTMCell(3, 4, False)
"""
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((5, 3, 3))
WEIGHTS = RANDOM.standard_normal(4000)


def made(library: Any, text: str) -> Any:
    """A module of float64, with the same weights in both libraries."""
    return with_weights(library, eval(text, {"nn": library.nn}).double(), WEIGHTS)


def gradients(library: Any, module: Any, x: Any, out: Any) -> list[Any]:
    """Those of the input and the parameters, of a sum in which each element counts differently."""
    total = sum((each * each * (number + 1)).sum() for number, each in enumerate(out))
    first = library.autograd.grad(total, [x, *module.parameters()], create_graph=True)
    second = library.autograd.grad(sum((each * each).sum() for each in first), [x, *module.parameters()])
    return [*first, *second]


def flat(out: Any) -> list[Any]:
    if isinstance(out, list | tuple):
        return [each for part in out for each in flat(part)]
    return [out]


@pytest.mark.parametrize("text", [text for text in cases(MODULES) if "RNNBase" not in text])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("initial", [False, True])
def test_module(text: str, packed: bool, initial: bool) -> None:
    def body(library: Any) -> Any:
        module = made(library, text)
        x = library.tensor(X, requires_grad=True)
        rnn = library.nn.utils.rnn
        sequence = rnn.pack_padded_sequence(x, [2, 5, 1], module.batch_first, enforce_sorted=False) if packed else x
        batch = 3 if packed else x.shape[0 if module.batch_first else 1]
        state = None
        if initial:
            layers = module.num_layers * (1 + module.bidirectional)
            hidden = library.linspace(-1, 1, layers * batch * (module.proj_size or 4), dtype=library.float64)
            hidden = hidden.reshape(layers, batch, module.proj_size or 4)
            cell = library.linspace(-1, 1, layers * batch * 4, dtype=library.float64).reshape(layers, batch, 4)
            state = (hidden, cell) if module.mode == "LSTM" else hidden
        out, last = module(sequence, state)
        results = [*rnn.pad_packed_sequence(out, True, -1.0, 6)] if packed else [out]
        results += flat(last)
        floating = [each for each in results if each.is_floating_point()]
        return [repr(module), dict(module.state_dict()), results, gradients(library, module, x, floating)]

    assert_same(body)


@pytest.mark.parametrize("text", cases(CELLS))
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("initial", [False, True])
def test_cell(text: str, batched: bool, initial: bool) -> None:
    def body(library: Any) -> Any:
        module = made(library, text)
        x = library.tensor(X[0] if batched else X[0, 0], requires_grad=True)
        state = library.tensor(WEIGHTS[:12].reshape(3, 4) if batched else WEIGHTS[:4])
        given = ((state, state * 2) if "LSTM" in text else state) if initial else None
        out = flat(module(x, given))
        return [repr(module), dict(module.state_dict()), out, gradients(library, module, x, out)]

    assert_same(body)


@pytest.mark.parametrize("text", cases(MODULES))
def test_names_of_weights(text: str) -> None:
    assert_same(lambda library: [[tuple(w.shape) for w in ws] for ws in made(library, text).all_weights])


def test_without_batch() -> None:
    def body(library: Any) -> Any:
        x = library.tensor(X[:, 0])
        return [made(library, text)(x) for text in ("nn.GRU(3, 4)", "nn.LSTM(3, 4, batch_first=True)")]

    assert_same(body)


ERRORS = """
nn.RNN(3, 4, proj_size=2) | nn.GRU(3, 4, proj_size=2) | nn.LSTM(3, 4, proj_size=4) | nn.RNN(3, 4, 1, "sigmoid")
nn.LSTM(0, 4) | nn.LSTM(3, 0) | nn.LSTM(3.0, 4) | nn.LSTM(3, 4, 0) | nn.LSTM(3, 4, dropout=2) | nn.LSTM(3, 4, bias=1)
nn.LSTM(3, 4, batch_first=0) | nn.LSTM(3, 4, dropout=True) | nn.LSTM(3, 4, proj_size=-1) | nn.RNNBase("LSTN", 3, 4)
nn.RNN(3, 4).double()(x[0, 0]) | nn.LSTM(3, 4)(x) | nn.LSTM(2, 4).double()(x) | nn.LSTM(3, 4).double()(x, (x, x))
nn.GRU(3, 4).double()(x, x[0]) | nn.GRU(3, 4).double()(x[0], x) | nn.GRU(3, 4).double()(x, x)
nn.LSTMCell(3, 4).double()(x) | nn.LSTMCell(2, 4).double()(x[0]) | nn.GRUCell(3, 4).double()(x[0], x)
nn.GRUCell(3, 4).double()(x[0], x[0]) | nn.RNNCell(3, 4, nonlinearity="id").double()(x[0])
rnn.pack_padded_sequence(x, [1, 2, 3]) | rnn.pack_padded_sequence(x, [3, 2]) | rnn.pack_padded_sequence(x, [3, 2, 0])
rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 2, 1]), total_length=2) | rnn.pad_sequence(3)
rnn.pad_sequence([]) | rnn.pad_sequence([x, x], padding_side="top")
rnn.PackedSequence(x) | rnn.pack_padded_sequence(x[:0], [1])
"""


@pytest.mark.parametrize("text", cases(ERRORS))
def test_error(text: str) -> None:
    def body(library: Any) -> Any:
        return eval(text, {"nn": library.nn, "rnn": library.nn.utils.rnn, "x": library.tensor(X)})

    def raised(library: Any) -> str:
        try:
            body(library)
        except Exception as error:
            return type(error).__name__
        return "nothing"

    import torch

    assert raised(gradwright) == raised(torch) != "nothing"


SEQUENCES = """
rnn.pad_sequence([a, b, c]) | rnn.pad_sequence([b, a], True, 1.5) | rnn.pad_sequence([c, a, b], padding_side="left")
rnn.pack_sequence([a, b, c]) | rnn.pack_sequence([c, a, b], enforce_sorted=False) | rnn.pad_sequence(x)
rnn.unpack_sequence(rnn.pack_sequence([c, a, b], enforce_sorted=False)) | rnn.pack_sequence([a, b]).to(torch.float32)
rnn.unpad_sequence(rnn.pad_sequence([a, b], True), torch.tensor([4, 2]), True)
rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, torch.tensor([4, 4, 1])), True, 2.5)
rnn.pack_padded_sequence(x, [3, 5, 2], True, False) if x.shape[0] == 3 else rnn.pack_padded_sequence(x, [3, 3, 2])
rnn.invert_permutation(torch.tensor([2, 0, 1])) | rnn.PackedSequence(a, torch.tensor([2, 2]))
rnn.PackedSequence((a, torch.tensor([2, 2])), sorted_indices=torch.tensor([1, 0])) | rnn.pack_sequence([a, b]).float()
"""


@pytest.mark.parametrize("text", cases(SEQUENCES))
def test_sequences(text: str) -> None:
    def body(library: Any) -> Any:
        x = library.tensor(X)
        names = {"x": x, "a": x[:4, 0], "b": x[:2, 1], "c": x[:1, 2], "torch": library, "rnn": library.nn.utils.rnn}
        return flat(eval(text, names))

    assert_same(body)


def test_dropout_is_drawn_between_layers() -> None:
    module = gradwright.nn.GRU(3, 4, 2, dropout=0.5)
    x = gradwright.randn(5, 2, 3)
    assert not gradwright.equal(module(x)[0], module(x)[0])
    module.eval()
    assert gradwright.equal(module(x)[0], module(x)[0])


def test_called_with_other_weights() -> None:
    """Weights are looked up by name with each call."""

    def body(library: Any) -> Any:
        module, other = made(library, "nn.LSTM(3, 4)"), made(library, "nn.LSTM(3, 4)")
        doubled = {name: value.detach() * 2 for name, value in other.named_parameters()}
        return library.func.functional_call(module, doubled, (library.tensor(X),))

    assert_same(body)
