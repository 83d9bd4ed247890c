"""Random number generators."""

from __future__ import annotations

import copy
import pickle

import pytest

from runtime import random
from runtime.base import dtypes
from runtime.base.creation import tensor
from runtime.random import Generator


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
