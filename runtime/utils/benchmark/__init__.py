"""Measuring how long statements take: `Timer` measures, `Measurement` says what came of it, `Compare` makes tables of
many, and `Fuzzer` makes Tensors of many shapes to measure with.
"""

from __future__ import annotations

from runtime.utils.benchmark.compare import Colorize, Compare
from runtime.utils.benchmark.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from runtime.utils.benchmark.measurement import Measurement, TaskSpec
from runtime.utils.benchmark.numbers import ordered_unique, select_unit, trim_sigfig, unit_to_english
from runtime.utils.benchmark.timing import Language, Timer, set_torch_threads, timer

__all__ = [
    "Colorize",
    "Compare",
    "FuzzedParameter",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
