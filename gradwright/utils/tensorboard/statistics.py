"""Numbers of histograms and of curves of precision and recall."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from gradwright.utils.tensorboard.arrays import Array

# What is divided by, where nothing was counted.
_LEAST_COUNT = 1e-7


@cache
def default_bins() -> list[float]:
    """Limits around zero, each a tenth farther away than the one before: from 1e-12 to 1e20."""
    limits = []
    limit = 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [*(-limit for limit in reversed(limits)), 0, *limits]


def buckets(values: Array, bins: str | int | Sequence[float], most: int | None) -> tuple[Array, Array]:
    """How many values are in each bucket, and the upper limits of the buckets.

    The first bucket is an empty one below the least value, and the last has the largest value in it.

    Raises:
        ValueError: there are no values, or none in any bucket.
    """
    if not values.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, bins=bins)
    if most is not None and len(counts) > most:
        step = len(counts) // most
        starts = np.arange(0, len(counts), step)
        counts, limits = np.add.reduceat(counts, starts), np.append(limits[starts], limits[-1])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty: no value lies in a bin.")
    first, last = int(filled[0]), int(filled[-1])
    return np.append(0, counts[first : last + 1]), limits[first : last + 2]


def precision_and_recall(labels: Array, predictions: Array, thresholds: int, weights: Array | float) -> Array:
    """For each threshold, in rows: true and false positives, true and false negatives, precision, recall."""
    places = np.floor(predictions * (thresholds - 1)).astype(np.int32)
    right = labels.astype(np.float64)

    def at_least(each: Array) -> Array:
        """By threshold, the weight of those whose predictions are not below it."""
        counted, _ = np.histogram(places, bins=thresholds, range=(0, thresholds - 1), weights=each)
        return np.cumsum(counted[::-1])[::-1]

    true, false = at_least(right * weights), at_least((1.0 - right) * weights)
    negative, missed = false[0] - false, true[0] - true
    precision = true / np.maximum(_LEAST_COUNT, true + false)
    recall = true / np.maximum(_LEAST_COUNT, true + missed)
    return np.stack((true, false, negative, missed, precision, recall))
