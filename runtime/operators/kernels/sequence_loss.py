"""Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber: ICML 2006).

A path names a symbol at each time step; without repetitions and blanks it is a sequence of labels.  The loss is minus
the logarithm of the probability of all paths that give the targets.  With the targets put between blanks, a path goes
through these states in order, and leaves out a blank only between different labels.  `alpha` are the probabilities of
all beginnings of paths that end in a state at a time, `beta` those of all that go on from it.  All are logarithms, and
each step is one of arrays over the batch and the states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from runtime.base.arrays import Array, type_name

Lengths = tuple[int, ...] | list[int] | Array


class _States(NamedTuple):
    """The states of each element of the batch: their symbols, the steps over a blank, how many there are, and when."""

    symbols: Array  # (batch, states)
    skips: Array  # (batch, states): whether a path may come from two states before
    counts: Array  # (batch,)
    times: Array  # (batch,)


def _states(log_probs: Array, targets: Array, input_lengths: Lengths, target_lengths: Lengths, blank: int) -> _States:
    """The states.

    Raises:
        RuntimeError: the arguments do not fit each other.
    """
    if log_probs.size == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for log_probs")
    if targets.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"Expected targets to have scalar type Int or Long, but got {type_name(targets.dtype)}")
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    times = _checked_lengths("input_lengths", input_lengths, batch, steps)
    labels = _checked_lengths("target_lengths", target_lengths, batch, None)
    table = _rows(targets, labels, blank)
    if table.size and not (table.min() >= 0 and table.max() < classes):
        raise RuntimeError(f"Expected targets to be labels from 0 to {classes - 1}")
    symbols = np.full((batch, 2 * table.shape[1] + 1), blank, np.int64)
    symbols[:, 1::2] = table
    skips = np.zeros(symbols.shape, bool)
    skips[:, 3::2] = table[:, 1:] != table[:, :-1]
    return _States(symbols, skips, 2 * labels + 1, times)


def _checked_lengths(name: str, given: Lengths, batch: int, most: int | None) -> Array:
    lengths = np.asarray(given, np.int64)
    if lengths.shape != (batch,):
        raise RuntimeError(f"{name} must be of size batch_size")
    if lengths.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {lengths.min()}")
    if most is not None and lengths.max() > most:
        raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {lengths.max()}")
    return lengths


def _rows(targets: Array, labels: Array, blank: int) -> Array:
    """The targets of each element of the batch, with blanks behind them; they come one after the other, or in rows."""
    longest = int(labels.max())
    inside = np.arange(longest) < labels[:, None]
    if targets.ndim == 1:
        if targets.size != labels.sum():
            raise RuntimeError(f"Expected targets of size {labels.sum()} at dimension 0, but got {targets.size}")
        table = np.full(inside.shape, blank, np.int64)
        table[inside] = targets
        return table
    if targets.ndim != 2:
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for targets")
    if len(targets) != len(labels):
        raise RuntimeError(f"Expected targets of size {len(labels)} at dimension 0, but got {len(targets)}")
    if targets.shape[1] < longest:
        raise RuntimeError(f"Expected targets of at least size {longest} at dimension 1, but got {targets.shape[1]}")
    return np.where(inside, targets[:, :longest], blank)


def _sum(*terms: Array) -> Array:
    """The logarithm of the sum of exponentials, of which all may be 0."""
    top = np.maximum.reduce(terms)
    top = np.where(np.isneginf(top), top.dtype.type(0), top)
    total = np.exp(terms[0] - top)
    for term in terms[1:]:
        total += np.exp(term - top)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + top)


def _before(row: Array, count: int) -> Array:
    """States shifted by `count`; nothing comes before the first."""
    out = np.full_like(row, -np.inf)
    out[:, count:] = row[:, : row.shape[1] - count]
    return out


def _after(row: Array, count: int) -> Array:
    out = np.full_like(row, -np.inf)
    out[:, : row.shape[1] - count] = row[:, count:]
    return out


def _emissions(log_probs: Array, states: _States) -> Array:
    """(time, batch, state): the log-probability of each state's symbol; states that are none have none."""
    chosen = np.take_along_axis(log_probs, states.symbols[None], axis=2)
    none = np.arange(states.symbols.shape[1]) >= states.counts[:, None]
    return np.where(none, -np.inf, chosen)


def _ctc_loss(
    log_probs: Array, targets: Array, input_lengths: Lengths, target_lengths: Lengths, blank: int
) -> tuple[Array, Array]:
    """The loss of each element of the batch, and (batch, time, state) the logarithms of alpha."""
    states = _states(log_probs, targets, input_lengths, target_lengths, blank)
    emitted = _emissions(log_probs, states)
    steps, batch, count = emitted.shape
    alpha = np.full((batch, steps, count), -np.inf, log_probs.dtype)
    row = np.full((batch, count), -np.inf, log_probs.dtype)
    row[:, :2] = emitted[0, :, :2]
    alpha[:, 0] = row
    jumps = np.where(states.skips, log_probs.dtype.type(0), log_probs.dtype.type(-np.inf))
    for step in range(1, steps):
        row = _sum(row, _before(row, 1), _before(row, 2) + jumps) + emitted[step]
        alpha[:, step] = row
    rows = np.arange(batch)
    last = alpha[rows, np.maximum(states.times, 1) - 1]
    end = states.counts - 1
    with_label = np.where(end > 0, last[rows, np.maximum(end - 1, 0)], -np.inf)
    likelihood = _sum(last[rows, end], with_label.astype(log_probs.dtype))
    # Without time there are no paths but the empty one.
    none = np.where(states.counts == 1, log_probs.dtype.type(0), log_probs.dtype.type(-np.inf))
    return -np.where(states.times == 0, none, likelihood), alpha


def _ctc_loss_backward(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The gradient of log-probabilities: minus the part of the probability of all paths that have the symbol then."""
    states = _states(log_probs, targets, input_lengths, target_lengths, blank)
    emitted = _emissions(log_probs, states)
    steps, batch, count = emitted.shape
    rows, end = np.arange(batch), states.counts - 1
    jumps = np.where(states.skips, log_probs.dtype.type(0), log_probs.dtype.type(-np.inf))
    share = np.full((steps, batch, count), -np.inf, log_probs.dtype)  # of the paths through a state
    beta = np.full((batch, count), -np.inf, log_probs.dtype)  # without the emission of the state itself
    final = np.full((batch, count), -np.inf, log_probs.dtype)
    final[rows, end] = 0
    final[rows, np.maximum(end - 1, 0)] = 0
    for step in range(steps - 1, -1, -1):
        if step + 1 < steps:
            onward = beta + emitted[step + 1]
            beta = _sum(onward, _after(onward, 1), _after(onward + jumps, 2))
        beta = np.where((states.times == step + 1)[:, None], final, beta)
        share[step] = log_alpha[:, step] + beta
    with np.errstate(invalid="ignore"):
        parts = np.exp(share + neg_log_likelihood[None, :, None])
    # What the states of one symbol have is added up: labels may be there several times.
    classes = log_probs.shape[2]
    places = (np.arange(steps * batch) * classes).reshape(steps, batch, 1) + states.symbols
    used = np.bincount(places.ravel(), parts.ravel(), log_probs.size).reshape(log_probs.shape)
    out = (-grad[None, :, None] * used).astype(log_probs.dtype, copy=False)
    inside = np.arange(steps)[:, None] < states.times
    out = np.where(inside[:, :, None], out, log_probs.dtype.type(0))
    if zero_infinity:
        out = np.where(np.isposinf(neg_log_likelihood)[None, :, None], log_probs.dtype.type(0), out)
    return np.asarray(out)


# -- lengths as lists and as Tensors


def ctc_loss_of_lists(
    log_probs: Array,
    targets: Array,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    return _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)


def ctc_loss_of_tensors(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        if lengths.dtype.kind not in "iu":
            raise RuntimeError(f"{name}_lengths must be integral")
    return _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)


def ctc_loss_backward_of_lists(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool = False,
) -> Array:
    return _ctc_loss_backward(
        grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
    )


def ctc_loss_backward_of_tensors(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool = False,
) -> Array:
    return _ctc_loss_backward(
        grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
    )
