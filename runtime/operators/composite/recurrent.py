"""Recurrent networks: cells, stacks of layers over time, and sequences of different lengths packed into one Tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from runtime import ops
from runtime.base.tensor import Tensor

# What a layer remembers: the hidden state, and for an LSTM the cell state after it.
State = tuple[Tensor, ...]


@dataclass(frozen=True)
class _Weights:
    """The parameters of one layer in one direction."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None

    def of_input(self, input: Tensor) -> Tensor:
        return ops.linear(input, self.input, self.input_bias)

    def of_hidden(self, hidden: Tensor) -> Tensor:
        return ops.linear(hidden, self.hidden, self.hidden_bias)


# A step takes what the input contributes, which is computed for all times at once, the state before, and the weights.
Step = Callable[[Tensor, State, _Weights], State]


def _tanh_step(from_input: Tensor, state: State, weights: _Weights) -> State:
    return (ops.tanh(from_input + weights.of_hidden(state[0])),)


def _relu_step(from_input: Tensor, state: State, weights: _Weights) -> State:
    return (ops.relu(from_input + weights.of_hidden(state[0])),)


def _lstm_step(from_input: Tensor, state: State, weights: _Weights) -> State:
    hidden, cell = state
    gates = from_input + weights.of_hidden(hidden)
    taken, kept, new, shown = ops.chunk(gates, 4, 1)
    cell = kept.sigmoid() * cell + taken.sigmoid() * new.tanh()
    hidden = shown.sigmoid() * cell.tanh()
    if weights.projection is not None:
        hidden = ops.linear(hidden, weights.projection)
    return hidden, cell


def _gru_step(from_input: Tensor, state: State, weights: _Weights) -> State:
    hidden = state[0]
    reset, update, new = ops.chunk(from_input, 3, 1)
    reset_hidden, update_hidden, new_hidden = ops.chunk(weights.of_hidden(hidden), 3, 1)
    kept = (update + update_hidden).sigmoid()
    candidate = (new + new_hidden * (reset + reset_hidden).sigmoid()).tanh()
    return ((hidden - candidate) * kept + candidate,)


# -- cells


def _check_cell(input: Tensor, state: State, weights: _Weights, gates: int) -> None:
    """The sizes that the weights want, which hold `gates` times the hidden size."""
    taken, size = weights.input.size(1), weights.hidden.size(1)
    if input.size(1) != taken:
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {taken}")
    for number, each in enumerate(state):
        label = str(number) if len(state) > 1 else ""
        if each.size(0) != input.size(0):
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{label} batch size {each.shape[0]}"
            )
        if each.size(1) != size:
            raise RuntimeError(f"hidden{label} has inconsistent hidden_size: got {each.shape[1]}, expected {size}")
    rows = gates * size
    for name, parameter in (("weight_ih", weights.input), ("weight_hh", weights.hidden)):
        if parameter.size(0) != rows:
            raise RuntimeError(f"{name} first dim must be {gates} * hidden_size = {rows}, but got {parameter.size(0)}")


def _cell(step: Step, gates: int, input: Tensor, state: State, weights: _Weights) -> State:
    _check_cell(input, state, weights, gates)
    return step(weights.of_input(input), state, weights)


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step: tanh(w_ih x + b_ih + w_hh h + b_hh)."""
    return _cell(_tanh_step, 1, input, (hx,), _Weights(w_ih, w_hh, b_ih, b_hh))[0]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step: relu(w_ih x + b_ih + w_hh h + b_hh)."""
    return _cell(_relu_step, 1, input, (hx,), _Weights(w_ih, w_hh, b_ih, b_hh))[0]


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a gated recurrent unit: the new hidden state."""
    return _cell(_gru_step, 3, input, (hx,), _Weights(w_ih, w_hh, b_ih, b_hh))[0]


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The new hidden state and the new cell state."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    hidden, cell = _cell(_lstm_step, 4, input, tuple(hx), _Weights(w_ih, w_hh, b_ih, b_hh))
    return hidden, cell


# -- one layer over time


def _along_time(step: Step, input: Tensor, state: State, weights: _Weights, backwards: bool) -> tuple[Tensor, State]:
    """The hidden states of all times, which are the first dimension, and the last state."""
    pieces = ops.unbind(weights.of_input(input), 0)
    out: list[Tensor] = []
    for piece in reversed(pieces) if backwards else pieces:
        state = step(piece, state, weights)
        out.append(state[0])
    return ops.stack(out[::-1] if backwards else out, 0), state


def _along_packed(
    step: Step, data: Tensor, sizes: Sequence[int], state: State, weights: _Weights, backwards: bool
) -> tuple[Tensor, State]:
    """As `_along_time`, where the batch becomes smaller with time: the sequences that end first are last in it."""
    pieces = list(ops.split_with_sizes(weights.of_input(data), sizes))
    if backwards:
        out, state = _packed_backwards(step, pieces, sizes, state, weights)
    else:
        out, state = _packed_forwards(step, pieces, sizes, state, weights)
    return ops.cat(out, 0), state


def _first(state: State, count: int) -> State:
    return tuple(each.narrow(0, 0, count) for each in state)


def _after(state: State, start: int, end: int) -> State:
    return tuple(each.narrow(0, start, end - start) for each in state)


def _packed_forwards(
    step: Step, pieces: Sequence[Tensor], sizes: Sequence[int], state: State, weights: _Weights
) -> tuple[list[Tensor], State]:
    """States of sequences that have ended are put aside, and joined at the end in the order of the batch."""
    out: list[Tensor] = []
    ended: list[State] = []
    before = sizes[0]
    for piece, size in zip(pieces, sizes, strict=True):
        if size < before:
            ended.append(_after(state, size, before))
            state = _first(state, size)
        before = size
        state = step(piece, state, weights)
        out.append(state[0])
    parts = [state, *reversed(ended)]
    return out, tuple(ops.cat(list(each), 0) for each in zip(*parts, strict=True))


def _packed_backwards(
    step: Step, pieces: Sequence[Tensor], sizes: Sequence[int], initial: State, weights: _Weights
) -> tuple[list[Tensor], State]:
    """From the last time on, where the shorter sequences join with their initial states."""
    out: list[Tensor] = []
    before = sizes[-1]
    state = _first(initial, before)
    for piece, size in zip(reversed(pieces), reversed(sizes), strict=True):
        if size > before:
            joined = zip(state, _after(initial, before, size), strict=True)
            state = tuple(ops.cat([old, new], 0) for old, new in joined)
        before = size
        state = step(piece, state, weights)
        out.append(state[0])
    return out[::-1], state


# -- stacks of layers


def _gather_weights(params: Sequence[Tensor], has_biases: bool, projected: bool) -> list[_Weights]:
    """Parameters layer by layer: of the input, of the hidden state, their biases, the projection."""
    each = 2 + 2 * has_biases + projected
    if len(params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    found = []
    for start in range(0, len(params), each):
        input, hidden, *rest = params[start : start + each]
        projection = rest.pop() if projected else None
        input_bias, hidden_bias = rest if has_biases else (None, None)
        found.append(_Weights(input, hidden, input_bias, hidden_bias, projection))
    return found


class _Options(NamedTuple):
    """The last parameters of all operators of stacks, in their order."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool = False


def _layers(
    step: Step,
    input: Tensor,
    sizes: Sequence[int] | None,
    states: Sequence[State],
    weights: Sequence[_Weights],
    options: _Options,
) -> tuple[Tensor, list[State]]:
    """Each layer takes what the one below gives, all directions of it side by side.

    `sizes` are the batch sizes of packed data; without them the first dimension of the input is the time.
    """
    directions = 2 if options.bidirectional else 1
    if len(weights) != options.num_layers * directions or len(states) != options.num_layers * directions:
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    last: list[State] = []
    for layer in range(options.num_layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            backwards = direction == 1
            if sizes is None:
                out, state = _along_time(step, input, states[place], weights[place], backwards)
            else:
                out, state = _along_packed(step, input, sizes, states[place], weights[place], backwards)
            outputs.append(out)
            last.append(state)
        input = ops.cat(outputs, -1) if options.bidirectional else outputs[0]
        if options.dropout and options.train and layer < options.num_layers - 1:
            input = ops.dropout(input, options.dropout, True)
    return input, last


def _run(
    step: Step,
    input: Tensor,
    batch_sizes: Tensor | None,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    options: _Options,
) -> tuple[Tensor, ...]:
    """The output, and each part of the last state with one entry for each layer and direction."""
    sizes = None if batch_sizes is None else [int(size) for size in batch_sizes.tolist()]
    projected = len(hx) == 2 and hx[0].shape[2] != hx[1].shape[2]
    weights = _gather_weights(params, options.has_biases, projected)
    states = list(zip(*(ops.unbind(each, 0) for each in hx), strict=False))
    time_first = input.transpose(0, 1) if options.batch_first else input
    out, last = _layers(step, time_first, sizes, states, weights, options)
    ends = tuple(ops.stack(list(each), 0) for each in zip(*last, strict=True))
    return (out.transpose(0, 1) if options.batch_first else out, *ends)


def _run_lstm(
    input: Tensor, batch_sizes: Tensor | None, hx: Sequence[Tensor], params: Sequence[Tensor], options: _Options
) -> tuple[Tensor, ...]:
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    return _run(_lstm_step, input, batch_sizes, hx, params, options)


def rnn_tanh_input(input: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> tuple[Tensor, ...]:
    """A recurrent network of tanh cells over sequences: all outputs, and the last hidden states."""
    return _run(_tanh_step, input, None, [hx], params, _Options(*options))


def rnn_tanh_data(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any
) -> tuple[Tensor, ...]:
    return _run(_tanh_step, data, batch_sizes, [hx], params, _Options(*options))


def rnn_relu_input(input: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> tuple[Tensor, ...]:
    """A recurrent network of relu cells over sequences: all outputs, and the last hidden states."""
    return _run(_relu_step, input, None, [hx], params, _Options(*options))


def rnn_relu_data(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any
) -> tuple[Tensor, ...]:
    return _run(_relu_step, data, batch_sizes, [hx], params, _Options(*options))


def gru_input(input: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> tuple[Tensor, ...]:
    """A network of gated recurrent units over sequences: all outputs, and the last hidden states."""
    return _run(_gru_step, input, None, [hx], params, _Options(*options))


def gru_data(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any
) -> tuple[Tensor, ...]:
    return _run(_gru_step, data, batch_sizes, [hx], params, _Options(*options))


def lstm_input(input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], *options: Any) -> tuple[Tensor, ...]:
    """A network of long short-term memory over sequences: all outputs, the last hidden and cell states."""
    return _run_lstm(input, None, hx, params, _Options(*options))


def lstm_data(
    data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], *options: Any
) -> tuple[Tensor, ...]:
    return _run_lstm(data, batch_sizes, hx, params, _Options(*options))
