"""Recurrent networks: RNN, LSTM and GRU over whole sequences, and their cells for one time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from gradwright.nn.utils.rnn import PackedSequence, permuted
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType

# For each mode the operator, and how many times the hidden size its weights have.
_MODES: dict[str, tuple[Callable[..., Any], int]] = {
    "RNN_TANH": (lambda *args: ops.rnn_tanh(*args), 1),
    "RNN_RELU": (lambda *args: ops.rnn_relu(*args), 1),
    "LSTM": (lambda *args: ops.lstm(*args), 4),
    "GRU": (lambda *args: ops.gru(*args), 3),
}


def _draw(module: Module, hidden_size: int) -> None:
    limit = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -limit, limit)


class RNNBase(Module):
    """Layers that run over a sequence, each taking what the one below gives.

    Args:
        mode: `RNN_TANH`, `RNN_RELU`, `LSTM` or `GRU`.
        input_size: the size of an element of the sequence.
        hidden_size: the size of what a layer remembers.
        num_layers: how many layers.
        bias: whether there are shifts.
        batch_first: sequences are of shape (batch, time, input_size), and not (time, batch, input_size).
        dropout: the probability of a zero between two layers, in training.
        bidirectional: each layer runs from both ends.
        proj_size: an LSTM shows its hidden state as a linear map of this size, if it is not 0.
        device: where the parameters live.
        dtype: of the parameters.

    Raises:
        ValueError: a size or probability that is out of range.
        TypeError: a flag that is no bool, or a size that is no int.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        _check_options(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                self._all_weights.append(self._make_layer(layer, suffix, device, dtype))
        self.reset_parameters()

    def _make_layer(self, layer: int, suffix: str, device: Device | str | None, dtype: DType | None) -> list[str]:
        """The parameters of one layer in one direction; returns their names."""
        rows = _MODES[self.mode][1] * self.hidden_size
        shown = self.proj_size or self.hidden_size
        taken = self.input_size if layer == 0 else shown * (1 + self.bidirectional)
        shapes: dict[str, list[int]] = {"weight_ih": [rows, taken], "weight_hh": [rows, shown]}
        if self.bias:
            shapes |= {"bias_ih": [rows], "bias_hh": [rows]}
        if self.proj_size:
            shapes["weight_hr"] = [self.proj_size, self.hidden_size]
        names = []
        for name, shape in shapes.items():
            names.append(f"{name}_l{layer}{suffix}")
            self.register_parameter(names[-1], Parameter(ops.empty(shape, dtype=dtype, device=device)))
        return names

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters, one list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: the parameters lie as the operators take them."""

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniformly between plus and minus 1 / sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    # -- checks

    def _state_sizes(self) -> tuple[int, ...]:
        """The size of each part of the state."""
        return (self.hidden_size,)

    def _check(self, input: Tensor, state: tuple[Tensor, ...], batch_sizes: Tensor | None, batch: int) -> None:
        dtype = self.all_weights[0][0].dtype
        if input.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        for number, (each, size) in enumerate(zip(state, self._state_sizes(), strict=True)):
            wanted = (len(self._all_weights), batch, size)
            if tuple(each.shape) != wanted:
                label = f"hidden[{number}]" if len(state) > 1 else "hidden"
                raise RuntimeError(f"Expected {label} size {wanted}, got {list(each.shape)}")

    def _check_dims(self, input: Tensor, state: tuple[Tensor, ...] | None) -> None:
        if input.dim() not in (2, 3):
            kind = "RNN" if self.mode.startswith("RNN") else self.mode
            raise ValueError(f"{kind}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead")
        if state is not None and any(each.dim() != input.dim() for each in state):
            which = "batched 3-D" if input.dim() == 3 else "unbatched 2-D"
            found = ", ".join(f"{each.dim()}-D" for each in state)
            raise RuntimeError(f"For {which} input, hx should also be {input.dim()}-D but got ({found}) tensor")

    # -- the call

    def _run(
        self, input: Tensor | PackedSequence, state: tuple[Tensor, ...] | None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, ...]]:
        """The output, and each part of the last state."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, state)
        self._check_dims(input, state)
        single = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        if single:
            input = input.unsqueeze(batch_dim)
            state = None if state is None else tuple(each.unsqueeze(1) for each in state)
        batch = input.shape[batch_dim]
        state = self._zeros(input, batch) if state is None else state
        self._check(input, state, None, batch)
        out, *last = self._call(input, None, state)
        if single:
            out, last = out.squeeze(batch_dim), [each.squeeze(1) for each in last]
        return out, tuple(last)

    def _run_packed(
        self, input: PackedSequence, state: tuple[Tensor, ...] | None
    ) -> tuple[PackedSequence, tuple[Tensor, ...]]:
        data, batch_sizes, order, order_back = input
        batch = int(batch_sizes[0])
        state = self._zeros(data, batch) if state is None else permuted(state, order)
        self._check(data, state, batch_sizes, batch)
        out, *last = self._call(data, batch_sizes, state)
        return PackedSequence(out, batch_sizes, order, order_back), permuted(tuple(last), order_back)

    def _zeros(self, input: Tensor, batch: int) -> tuple[Tensor, ...]:
        layers = len(self._all_weights)
        return tuple(input.new_zeros([layers, batch, size]) for size in self._state_sizes())

    def _call(self, input: Tensor, batch_sizes: Tensor | None, state: tuple[Tensor, ...]) -> Sequence[Tensor]:
        weights = [weight for weights in self.all_weights for weight in weights]
        hidden = list(state) if len(state) > 1 else state[0]
        options = weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        operator = _MODES[self.mode][0]
        if batch_sizes is None:
            return operator(input, hidden, *options, self.batch_first)  # type: ignore[no-any-return]
        return operator(input, batch_sizes, hidden, *options)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """The sizes, and options that are not the usual ones."""
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0}
        usual["bidirectional"] = False
        parts = [str(self.input_size), str(self.hidden_size)]
        parts += [f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]]
        return ", ".join(parts)


def _check_options(
    mode: str,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    bias: bool,
    batch_first: bool,
    dropout: float,
    proj_size: int,
) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _MODES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")


class _OneState(RNNBase):
    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        """The hidden states of the last layer at all times, and those of all layers at the end.

        Args:
            input: of shape (time, batch, input_size), without the batch, or packed.
            hx: the hidden states at the beginning; zeros, if left out.
        """
        out, state = self._run(input, None if hx is None else (hx,))
        return out, state[0]


class RNN(_OneState):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), layer by layer; or relu, as `nonlinearity` says.

    Its arguments are those of RNNBase but `mode` and `proj_size`, with `nonlinearity` after `num_layers`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(_OneState):
    """Layers with gates that say how much of the hidden state is forgotten, and how much of it stays.

    Its arguments are those of RNNBase but `mode` and `proj_size`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Layers with a hidden state, and a cell state that gates write and show. The arguments are those of RNNBase."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size

    def forward(
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
        """The hidden states of the last layer at all times, and both states of all layers at the end.

        Args:
            input: of shape (time, batch, input_size), without the batch, or packed.
            hx: hidden and cell states at the beginning; zeros, if left out.
        """
        out, (hidden, cell) = self._run(input, None if hx is None else tuple(hx))
        return out, (hidden, cell)


class RNNCellBase(Module):
    """One layer at one time.

    Args:
        input_size: the size of an element of the sequence.
        hidden_size: the size of the hidden state.
        bias: whether there are shifts.
        num_chunks: how many gates the weights hold.
        device: where the parameters live.
        dtype: of the parameters.
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": [rows, input_size], "weight_hh": [rows, hidden_size]}
        for name, shape in (shapes | {"bias_ih": [rows], "bias_hh": [rows]}).items():
            wanted = bias or name in shapes
            values = Parameter(ops.empty(shape, dtype=dtype, device=device)) if wanted else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniformly between plus and minus 1 / sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def _run(
        self, cell: Callable[..., Any], input: Tensor, state: tuple[Tensor, ...] | None, parts: int = 1
    ) -> tuple[Tensor, ...]:
        """The state after a time; `parts` is how many Tensors it has."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for number, each in enumerate(state or ()):
            if each.dim() not in (1, 2):
                label = f"hx[{number}]" if parts > 1 else "hidden"
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {each.dim()}D instead")
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if state is None:
            zeros = input.new_zeros([input.shape[0], self.hidden_size])
            state = (zeros,) * parts
        elif single:
            state = tuple(each.unsqueeze(0) for each in state)
        hidden = list(state) if parts > 1 else state[0]
        made = cell(input, hidden, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        after = tuple(made) if parts > 1 else (made,)
        return tuple(each.squeeze(0) for each in after) if single else after

    def extra_repr(self) -> str:
        """The sizes, and options that are not the usual ones."""
        parts = [str(self.input_size), str(self.hidden_size)]
        if not self.bias:
            parts.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)


class RNNCell(RNNCellBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh); or relu, as `nonlinearity` says. See RNNCellBase for the others."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The hidden state after `input`, of shape (batch, input_size) or (input_size)."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        cell = ops.rnn_tanh_cell if self.nonlinearity == "tanh" else ops.rnn_relu_cell
        return self._run(cell, input, None if hx is None else (hx,))[0]


class _GatedCell(RNNCellBase):
    """A cell without a choice of its function."""

    _gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class GRUCell(_GatedCell):
    """One time of a GRU. See RNNCellBase for the arguments."""

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The hidden state after `input`, of shape (batch, input_size) or (input_size)."""
        return self._run(ops.gru_cell, input, None if hx is None else (hx,))[0]


class LSTMCell(_GatedCell):
    """One time of an LSTM. See RNNCellBase for the arguments."""

    _gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The hidden and the cell state after `input`, of shape (batch, input_size) or (input_size)."""
        hidden, cell = self._run(ops.lstm_cell, input, None if hx is None else tuple(hx), 2)
        return hidden, cell
