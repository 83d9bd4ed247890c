"""How results lie in memory: the rule that each operator names, by the fast path and by the general path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from gradwright import native
from runtime.base import layouts, modes
from runtime.base.tensor import Tensor, wrap
from runtime.call.dispatch import Operator

Array = np.ndarray[Any, Any]
X = gradwright.arange(24.0).reshape(2, 3, 4)


def strides(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.stride())


@pytest.fixture(params=["fast", "general"])
def way(request: pytest.FixtureRequest) -> Any:
    """Calls as they are, and calls that a handler sees: those go the general path."""
    if request.param == "fast":
        yield
        return
    with modes.handle_calls(lambda operator, variant, values, proceed: proceed(values)):
        yield


CONTIGUOUS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(0),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "cummax": lambda x: x.cummax(0)[0],
    "cat": lambda x: gradwright.cat([x, x]),
    "stack": lambda x: gradwright.stack([x, x]),
    "roll": lambda x: x.roll([1], [0]),
    "tril": lambda x: x.tril(),
    "masked_fill": lambda x: x.masked_fill(x > 3, 0),
    "prod": lambda x: x.unsqueeze(0).prod(2, keepdim=True),
    "amax": lambda x: x.unsqueeze(0).amax(2, keepdim=True),
    "rms_norm": lambda x: gradwright.rms_norm(x, [x.shape[-1]]),
    "repeat": lambda x: x.repeat(2, 2),
    "logsigmoid": lambda x: gradwright.nn.functional.logsigmoid(x),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", CONTIGUOUS)
def test_results_of_transposed_inputs_are_contiguous(name: str) -> None:
    out = CONTIGUOUS[name](X[0].t())
    assert out.is_contiguous()
    assert out.view(-1).shape == (out.numel(),)
    plain = CONTIGUOUS[name](X[0].t().contiguous())
    assert out.tolist() == plain.tolist()


@pytest.mark.usefixtures("way")
def test_element_wise_results_lie_as_the_first_operand_that_tells() -> None:
    x, y = X.permute(2, 0, 1), gradwright.ones(4, 2, 3)
    assert strides(x.exp()) == (1, 12, 4)
    assert strides(x + y) == (1, 12, 4)
    assert strides(y + x) == (6, 3, 1)
    assert strides(gradwright.ones(3) + x) == (1, 12, 4)
    assert strides(gradwright.ones(2, 3).t() * gradwright.ones(2, 1, 1)) == (6, 1, 3)
    assert strides(gradwright.rsub(y, x)) == (1, 12, 4)  # subtracts the first from the second
    assert strides(x.double() > y) == (1, 12, 4)  # dtypes that have to be brought together
    assert strides(gradwright.where(y > 0, x, y)) == (6, 3, 1)
    assert strides(x[:, :, ::2] * 2) == (1, 8, 4)  # no gaps


@pytest.mark.usefixtures("way")
def test_what_is_expanded_gets_elements_of_its_own() -> None:
    x = gradwright.arange(4.0).expand(2, 3, 4)
    for out in (x.clone(), x.exp(), x.float_power(2), x.nan_to_num(), gradwright.zeros_like(x), x.double(), x + x):
        assert strides(out) == (12, 4, 1)
    y = gradwright.ones(3, 1).expand(3, 4).t()  # only one dimension tells
    assert strides(y.clone()) == (3, 1)


@pytest.mark.usefixtures("way")
def test_copies_keep_the_order_of_dimensions() -> None:
    x = X.permute(1, 2, 0)
    for out in (x.clone(), x.flip(0), x.double(), gradwright.zeros_like(x), gradwright.rand_like(x), x.sort(0)[0]):
        assert strides(out) == (4, 1, 12)
    for out in x.sort(-1):
        assert strides(out) == (4, 1, 12)
    assert strides(x[:, ::2].clone()) == (2, 1, 6)
    assert strides(x[:, ::2].select_scatter(x[0, ::2], 0, 1)) == (4, 2, 12)  # the gaps, too
    index = gradwright.tensor([1, 0])
    assert strides(x[index]) == (8, 1, 4)
    assert strides(x.index_fill(0, index, 1.0)) == (4, 1, 12)
    assert strides(gradwright.nonzero(x > 3)) == (1, 20)


@pytest.mark.usefixtures("way")
def test_memory_formats_are_obeyed() -> None:
    x = gradwright.ones(2, 3, 4, 5)
    last = x.contiguous(memory_format=gradwright.channels_last)
    assert strides(last) == strides(x.to(memory_format=gradwright.channels_last)) == (60, 1, 15, 3)
    assert last.is_contiguous(memory_format=gradwright.channels_last)
    assert last.contiguous(memory_format=gradwright.channels_last) is last
    assert last.to(memory_format=gradwright.preserve_format) is last
    assert strides(last.clone()) == strides(last.exp()) == strides(last)
    assert last.clone(memory_format=gradwright.contiguous_format).is_contiguous()
    assert gradwright.zeros_like(last, memory_format=gradwright.contiguous_format).is_contiguous()
    assert strides(gradwright.empty(2, 3, 4, 5, memory_format=gradwright.channels_last)) == strides(last)
    with pytest.raises(RuntimeError, match="required rank 4 tensor"):
        x[0].clone(memory_format=gradwright.channels_last)
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        x.contiguous(memory_format=gradwright.preserve_format)


def test_a_kernel_registered_at_run_time_decides_by_itself() -> None:
    """What it gives is what the caller gets: it is a function on Tensors."""
    library = gradwright.library.Library("aten", "IMPL", "CPU")
    try:
        with pytest.warns(UserWarning, match="Overriding"):
            library.impl("cumsum", lambda x, dim, dtype=None: x.t().contiguous().t(), "CPU")
        assert strides(X[0].cumsum(0)) == (1, 3)
    finally:
        library._destroy()


def test_every_operator_with_a_kernel_has_a_rule() -> None:
    without = set()
    for operator in [o for o in vars(operators).values() if isinstance(o, Operator)]:
        if operator.layout is not None:
            assert callable(getattr(layouts, operator.layout[0]))
        elif "CPU" in operator.kernels and operator.view is None and "Tensor" in operator.schema.partition(" -> ")[2]:
            without.add(operator.name)
    # A view that its schema does not call one; matrices column by column, or vectors, as LAPACK gives them; spectra, as
    # the transform leaves them; heads, as linear maps take them.
    spectra = {"_fft_c2c", "_fft_r2c", "_fft_c2r"}
    heads = {f"_scaled_dot_product_flash_attention_for_cpu{end}" for end in ("", "_backward")}
    assert without == {"_unsafe_view", "_linalg_svd", "linalg_lstsq", "linalg_lu_solve"} | spectra | heads


def random_array(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Of a shape, with dimensions in any order, cut, and expanded at will."""
    order = rng.permutation(len(shape))
    steps = rng.integers(1, 3, len(shape))
    whole = rng.normal(size=[shape[i] * steps[i] for i in order]).astype(np.float32)
    array = whole.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    if rng.random() < 0.3 and array.ndim:
        return np.broadcast_to(array[:1], shape)
    return array


def test_the_native_loops_lie_as_the_rule_says() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        shape = tuple(rng.integers(1, 4, rng.integers(1, 5)))
        kept = tuple(rng.choice([1, size]) for size in shape)[rng.integers(0, len(shape)) :]
        a, b = random_array(rng, shape), random_array(rng, kept)
        if rng.random() < 0.5:
            a, b = b, a
        for function, operands in ((gradwright.add, (a, b)), (gradwright.exp, (a,)), (gradwright.clone, (a,))):
            made = function(*map(wrap, operands))._array
            wanted = layouts.iterated(np.ascontiguousarray(made), *operands)
            significant = [i for i, size in enumerate(made.shape) if size > 1]
            assert [made.strides[i] for i in significant] == [wanted.strides[i] for i in significant]
            np.testing.assert_array_equal(made, wanted)


@pytest.mark.skipif(not native.is_available(), reason="compares with the core")
def test_element_wise_calls_stay_native_in_any_layout() -> None:
    x, y = X.permute(2, 0, 1), gradwright.ones(4, 2, 3)
    for function in (
        lambda: gradwright.addcmul(y, x, y),
        lambda: gradwright.nn.functional.silu(x),
        lambda: gradwright.lerp(x, y, 0.5),
    ):
        (record,) = native.explain(function).records
        assert (record.fast, record.kernel) != (True, "Python's kernel"), record


def test_strides_that_overlap_are_not_preserved() -> None:
    """Rows that begin one element after each other: a write to one would be one to the next."""
    x = gradwright.arange(5.0).as_strided((3, 3), (1, 1))
    out = x.select_scatter(gradwright.zeros(3), 0, 1)
    assert out.tolist() == [[0, 1, 2], [0, 0, 0], [2, 3, 4]]
    assert out.stride() == (3, 1)
    gap = gradwright.zeros(3, 6)[:, ::2]
    assert gap.select_scatter(gradwright.ones(3), 0, 1).stride() == (6, 2)
