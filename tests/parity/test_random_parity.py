"""With equal seeds the numbers are PyTorch's, bit for bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

SIZES = (0, 1, 15, 16, 17, 1000)
SEEDS = (0, 1, 2**32 + 5, -3)
FLOATING = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
REAL = FLOATING[:4]
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")


@pytest.fixture(autouse=True)
def _restore():
    state = torch.get_rng_state()
    with gradwright.random.fork_rng():
        yield
    torch.set_rng_state(state)


def bits(tensor: Any) -> np.ndarray:
    """The bytes of a Tensor of either library, element by element."""
    module = torch if isinstance(tensor, torch.Tensor) else gradwright
    plain = tensor.detach().contiguous()
    if plain.dtype == module.bfloat16:
        plain = plain.to(module.float32)
    return plain.numpy()


def same(program: Callable[[Any], Any], seeds: tuple[int, ...] = SEEDS) -> None:
    """A program gives equal Tensors with both libraries, and leaves equal states behind."""
    for seed in seeds:
        results = []
        for module in (gradwright, torch):
            module.manual_seed(seed)
            out = program(module)
            results.append((out if isinstance(out, (list, tuple)) else (out,), module.get_rng_state().numpy()))
        (ours, our_state), (theirs, their_state) = results
        for mine, other in zip(ours, theirs, strict=True):
            assert str(mine.dtype).split(".")[-1] == str(other.dtype).split(".")[-1]
            np.testing.assert_array_equal(bits(mine), bits(other))
        np.testing.assert_array_equal(our_state, their_state)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", ["rand", "randn"])
def test_new_tensors(name, dtype, size):
    same(lambda m: getattr(m, name)(size, dtype=getattr(m, dtype)))
    same(lambda m: getattr(m, name)(size, dtype=getattr(m, dtype), generator=m.Generator().manual_seed(4)))


def laid_out(m: Any, dtype: str) -> list[Any]:
    d = getattr(m, dtype)
    return [
        m.zeros(6, 8, dtype=d).t(),
        m.zeros(6, 8, dtype=d)[:, ::2],
        m.zeros(5, 8, dtype=d).t()[1::2],
        m.zeros(2, 3, 4, 5, dtype=d).permute(0, 2, 3, 1),
        m.zeros(3, 1, 7, dtype=d).transpose(0, 2),
        m.zeros((), dtype=d),
    ]


FILLS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "uniform_": ((), (-0.3, 0.7), (1, 1 + 2**-22), (5, 5)),
    "normal_": ((), (0.7, 0.3), (-3.0, 0.001)),
    "bernoulli_": ((), (0.3,)),
    "exponential_": ((), (2.3,)),
    "cauchy_": ((), (0.5, 2.0)),
    "log_normal_": ((), (0.5, 0.25)),
    "geometric_": ((0.3,), (0.9,)),
    "random_": ((), (100,), (-3, 12)),
}


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", FILLS)
def test_in_place_of_others(name, dtype):
    if dtype.startswith("complex") and name not in ("uniform_", "normal_"):
        with pytest.raises((RuntimeError, NotImplementedError)):
            getattr(gradwright.zeros(3, dtype=getattr(gradwright, dtype)), name)(*FILLS[name][0])
        return
    for arguments in FILLS[name]:
        if dtype == "bfloat16" and arguments == (1, 1 + 2**-22):
            continue
        for size in SIZES:
            same(lambda m, size=size, a=arguments: getattr(m.zeros(size, dtype=getattr(m, dtype)), name)(*a), SEEDS[:2])
        same(lambda m, a=arguments: [getattr(t, name)(*a) for t in laid_out(m, dtype)], SEEDS[:2])


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers(dtype):
    for size in SIZES:
        same(lambda m, size=size: m.zeros(size, dtype=getattr(m, dtype)).random_())
        same(lambda m, size=size: m.zeros(size, dtype=getattr(m, dtype)).bernoulli_(0.4))
        same(lambda m, size=size: m.randint(0, 2, (size,), dtype=getattr(m, dtype)))
        if dtype != "bool":
            same(lambda m, size=size: m.zeros(size, dtype=getattr(m, dtype)).random_(5, None))
            same(lambda m, size=size: m.zeros(size, dtype=getattr(m, dtype)).geometric_(0.4))
    same(lambda m: [t.random_() for t in laid_out(m, dtype)])


@pytest.mark.parametrize("high", [1, 10, 2**28 - 1, 2**28, 2**31, 2**32, 2**40 + 3, 2**63 - 1])
def test_randint(high):
    same(lambda m: m.randint(high, (100,)))
    same(lambda m: m.randint(-high, high // 2, (100,)))
    same(lambda m: m.zeros(50, dtype=m.int64).random_(-(2**63), None))
    same(lambda m: m.randint(10, (3, 4), dtype=m.float32))
    same(lambda m: m.randint_like(m.zeros(4, 5).t(), 7))


@pytest.mark.parametrize("size", [*SIZES, 2, 3, 5000])
def test_randperm(size):
    same(lambda m: m.randperm(size), (*range(10), *SEEDS))
    same(lambda m: m.randperm(size, dtype=m.float32))


def test_like_another():
    for name in ("rand_like", "randn_like"):
        for dtype in ("float32", "float64"):
            same(lambda m, n=name, d=dtype: [getattr(m, n)(t) for t in laid_out(m, d)])


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("size", SIZES)
def test_probabilities(dtype, size):
    def chances(m):
        return (m.arange(size, dtype=m.float64) / max(size, 1)).to(getattr(m, dtype))

    same(lambda m: m.bernoulli(chances(m)))
    same(lambda m: m.zeros(size).bernoulli_(chances(m)))
    same(lambda m: m.bernoulli(chances(m), 0.3))
    same(lambda m: m.zeros(4, size).bernoulli_(chances(m)))
    same(lambda m: m.zeros(size, 4).t().bernoulli_(chances(m)))
    same(lambda m: m.bernoulli(m.full((5, 7), 0.4).t()))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("size", SIZES)
def test_normal_with_tensors(dtype, size):
    def several(m, scale):
        return (m.arange(size, dtype=m.float64) / scale).to(getattr(m, dtype))

    same(lambda m: m.normal(several(m, 7), several(m, 5)))
    same(lambda m: m.normal(several(m, 7), 0.3))
    same(lambda m: m.normal(0.7, several(m, 5)))
    same(lambda m: m.normal(0.7, 0.3, (size,), dtype=getattr(m, dtype)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial(dtype):
    for count, replacement in ((1, True), (1, False), (7, False), (7, True)):
        same(lambda m, c=count, r=replacement: m.multinomial(m.arange(1, 51, dtype=getattr(m, dtype)), c, r))
        same(
            lambda m, c=count, r=replacement: m.multinomial(m.arange(1, 61, dtype=getattr(m, dtype)).view(3, 20), c, r)
        )


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_dropout(p):
    def inputs(m):
        values = m.arange(-100, 110).view(5, 6, 7) / 64
        return [values, values.transpose(0, 2)]

    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d"):
        same(lambda m, n=name: [getattr(m.nn.functional, n)(x, p, training=True) for x in inputs(m)])
    same(lambda m: [y for x in inputs(m) for y in m.native_dropout(x, p, True)])
    same(lambda m: m.nn.functional.dropout2d(m.ones(3, 4, 5, 6), p))
    same(lambda m: m.nn.functional.dropout(m.ones(300, dtype=m.float64), p))


INITS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda m, t: m.nn.init.uniform_(t, -1, 2),
    "normal_": lambda m, t: m.nn.init.normal_(t, 1, 2),
    "trunc_normal_": lambda m, t: m.nn.init.trunc_normal_(t, 0.1, 0.5, -1, 1),
    "xavier_uniform_": lambda m, t: m.nn.init.xavier_uniform_(t, 1.3),
    "xavier_normal_": lambda m, t: m.nn.init.xavier_normal_(t),
    "kaiming_uniform_": lambda m, t: m.nn.init.kaiming_uniform_(t, a=0.2),
    "kaiming_normal_": lambda m, t: m.nn.init.kaiming_normal_(t, nonlinearity="relu"),
    "sparse_": lambda m, t: m.nn.init.sparse_(t, 0.3),
}


@pytest.mark.parametrize("name", INITS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_initialisations(name, dtype):
    for shape in ((3, 4), (20, 17), (16, 3)):
        same(lambda m, s=shape: INITS[name](m, m.empty(s, dtype=getattr(m, dtype))))


@pytest.mark.parametrize("limits", [(-2, 2), (-0.4, 0.4), (-0.3, 0.3), (1, 3), (-5, -1.2)])
def test_truncated_normal_numbers(limits):
    for size in (0, 12, 16, 40):
        same(lambda m, n=size: m.nn.init.trunc_normal_(m.empty(n), 0.0, 1.0, *limits))
        same(lambda m, n=size: m.nn.init.trunc_normal_(m.empty(4, n).t(), 0.5, 1.5, *limits))


@pytest.mark.filterwarnings("ignore:mean is more than")
def test_truncated_far_from_the_mean():
    same(lambda m: m.nn.init.trunc_normal_(m.empty(20), 0.0, 1.0, 3, 5))


@pytest.mark.parametrize("shape", [(3, 4), (20, 17), (17, 20), (4, 3, 2)])
def test_orthogonal_as_far_as_the_factorisation_agrees(shape):
    for dtype, error in (("float32", 3e-6), ("float64", 1e-14)):
        made = []
        for m in (gradwright, torch):
            m.manual_seed(4)
            made.append(m.nn.init.orthogonal_(m.empty(shape, dtype=getattr(m, dtype)), 1.5).numpy())
        np.testing.assert_allclose(*made, atol=error)


MODULES: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(5, 7),
    "Conv2d": lambda nn: nn.Conv2d(3, 4, 3),
    "ConvTranspose1d": lambda nn: nn.ConvTranspose1d(3, 4, 3),
    "Embedding": lambda nn: nn.Embedding(10, 4, padding_idx=1),
    "LSTM": lambda nn: nn.LSTM(4, 6, 2, bidirectional=True),
    "GRUCell": lambda nn: nn.GRUCell(3, 5),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
    "Transformer": lambda nn: nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "BatchNorm": lambda nn: nn.Sequential(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3), nn.PReLU(), nn.Linear(3, 3)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_begin_with_the_same_weights(name):
    same(lambda m: list(MODULES[name](m.nn).state_dict().values()))


def test_states_are_of_the_same_bytes_both_ways():
    for draw in (lambda m: m.rand(5), lambda m: m.randn(3), lambda m: m.rand(2000), lambda m: m.rand(624)):
        torch.manual_seed(11)
        draw(torch)
        ours, theirs = gradwright.Generator(), torch.Generator()
        ours.set_state(gradwright.tensor(torch.get_rng_state().numpy()))
        assert ours.initial_seed() == torch.initial_seed() == 11
        theirs.set_state(torch.from_numpy(ours.get_state().numpy()))
        expected = torch.randn(21, generator=theirs)
        copied = pickle.loads(pickle.dumps(ours))
        for generator in (ours, copied):
            np.testing.assert_array_equal(gradwright.randn(21, generator=generator).numpy(), expected.numpy())


def test_a_normal_number_waits_for_the_next_draw():
    same(
        lambda m: [
            m.randn(1),
            m.rand(3),
            m.randn(1, dtype=m.float64),
            m.randn(16),
            m.randn(2),
            m.empty(1).log_normal_(),
        ]
    )


def test_shuffled_data():
    def order(m):
        data = list(range(20))
        loader = m.utils.data.DataLoader(data, batch_size=3, shuffle=True)
        parts = m.utils.data.random_split(data, [15, 5])
        return [*loader, *[m.tensor(list(part)) for part in parts], m.rand(2)]

    same(order)
    same(lambda m: m.tensor(list(m.utils.data.RandomSampler(range(20), replacement=True, num_samples=40))))
    same(lambda m: m.tensor(list(m.utils.data.WeightedRandomSampler([1.0, 2.0, 3.0], 7))))
    same(lambda m: m.tensor(list(m.utils.data.SubsetRandomSampler(range(9)))))
