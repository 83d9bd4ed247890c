"""Random number generators."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gradwright
from gradwright import random
from gradwright.random import Generator
from runtime.base import dtypes
from runtime.base.creation import tensor
from runtime.operators.kernels.random import _after_exchanges


@pytest.fixture(autouse=True)
def _restore():
    with random.fork_rng():
        yield


def draw(generator: Generator) -> list[float]:
    return generator.numpy.random(3).tolist()


def test_a_seed_decides_the_numbers():
    first, second = Generator().manual_seed(5), Generator().manual_seed(5)
    assert draw(first) == draw(second)
    assert draw(first.manual_seed(6)) != draw(second.manual_seed(5))
    assert first.initial_seed() == 6


def test_the_numpy_generator_stays_the_same_object():
    generator = Generator()
    numbers = generator.numpy
    generator.manual_seed(1)
    assert generator.numpy is numbers


def test_seeds_are_64_bit_numbers():
    assert Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow"):
            Generator().manual_seed(wrong)


def test_seed_is_a_new_one():
    generator = Generator()
    first = generator.seed()
    assert generator.initial_seed() == first
    assert generator.seed() != first


def test_a_state_can_be_gone_back_to():
    generator = Generator().manual_seed(3)
    generator.numpy.integers(0, 10, dtype="int32")  # leaves half a word in the state
    state = generator.get_state()
    assert state.dtype is dtypes.uint8
    numbers = draw(generator)
    generator.manual_seed(9)
    generator.set_state(state)
    assert generator.initial_seed() == 3
    assert draw(generator) == numbers


def test_copies_go_on_alike():
    generator = Generator().manual_seed(3)
    draw(generator)
    others = [generator.clone_state(), pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)]
    numbers = draw(generator)
    assert [draw(other) for other in others] == [numbers] * 3


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (b"", TypeError),
        (tensor([1.0]), TypeError),
        (tensor([1], dtype=dtypes.uint8), RuntimeError),
    ],
)
def test_what_is_no_state_is_refused(state, error):
    with pytest.raises(error):
        Generator().set_state(state)


def test_the_default_generator():
    assert random.manual_seed(7) is random.default_generator
    assert random.initial_seed() == 7
    state = random.get_rng_state()
    numbers = draw(random.default_generator)
    random.set_rng_state(state)
    assert draw(random.default_generator) == numbers
    assert random.seed() == random.initial_seed()


def test_fork_rng():
    random.manual_seed(7)
    with random.fork_rng():
        inside = draw(random.default_generator)
    assert draw(random.default_generator) == inside
    random.manual_seed(7)
    with random.fork_rng(enabled=False):
        draw(random.default_generator)
    assert draw(random.default_generator) != inside


def test_generators_live_on_the_cpu():
    assert Generator("cpu").device.type == "cpu"
    with pytest.raises(RuntimeError, match="cpu only"):
        Generator("meta")


def test_the_numbers_of_a_seed_are_pytorchs():
    """Written down from PyTorch, so that they are compared with and without the native core, and without PyTorch."""
    random.manual_seed(7)

    def hexadecimal(numbers):
        return [number.hex() for number in numbers.tolist()]

    assert hexadecimal(gradwright.rand(2)) == ["0x1.11e15e0000000p-1", "0x1.9726200000000p-3"]
    assert hexadecimal(gradwright.rand(2, dtype=dtypes.float64)) == ["0x1.18432a35053ecp-2", "0x1.b9643fa6cd0d3p-1"]
    assert hexadecimal(gradwright.randn(2)) == ["-0x1.405bc20000000p+0", "-0x1.e252400000000p+0"]
    places = [0, 8, 18, 19]
    assert hexadecimal(gradwright.randn(20)[places]) == [
        "0x1.ee15960000000p+0", "0x1.651ee80000000p-3", "-0x1.0bdd640000000p-2", "-0x1.0022c40000000p-2",
    ]  # fmt: skip
    assert hexadecimal(gradwright.randn(20, dtype=dtypes.float64)[places]) == [
        "0x1.749d011ade7a0p-1", "0x1.a747b70edb353p-1", "-0x1.8b4bde8f2bacfp+0", "-0x1.4d800b3596af2p-3",
    ]  # fmt: skip
    assert gradwright.randperm(12).tolist() == [6, 8, 4, 1, 9, 2, 11, 0, 7, 3, 10, 5]
    assert gradwright.randint(100, (6,)).tolist() == [75, 40, 14, 6, 22, 11]
    assert gradwright.empty(2, dtype=dtypes.int64).random_().tolist() == [8262376814575406295, 2937336300495845810]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50, 3000])
def test_exchanges_one_after_the_other(count):
    """What the kernel does for all at once, in a loop."""
    rng = np.random.default_rng(count)
    for _ in range(5):
        partners = np.arange(max(count - 1, 0)) + rng.integers(0, count - np.arange(max(count - 1, 0)))
        order = list(range(count))
        for place, partner in enumerate(partners.tolist()):
            order[place], order[partner] = order[partner], order[place]
        assert _after_exchanges(count, partners).tolist() == order
