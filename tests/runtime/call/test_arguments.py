"""How arguments may be given: second names, old orders, numbers, arrays, Python's signs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gradwright
from gradwright import tensor
from runtime.call import registered
from runtime.call.facts import BUILT_IN


def test_second_names_of_arguments_with_defaults() -> None:
    """The default of `dim` is not a value that was given beside `axis`."""
    m = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert gradwright.cat([m, m], axis=1).shape == (2, 4)
    assert gradwright.stack([m, m], axis=2).shape == (2, 2, 2)
    assert gradwright.concat(tensors=[m, m], axis=0).shape == (4, 2)
    assert gradwright.amax(m, axis=0, keepdims=True).tolist() == [[3.0, 4.0]]
    assert m.argmax(axis=1, keepdims=True).tolist() == [[1], [1]]
    assert [part.tolist() for part in m.unbind(axis=1)] == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize("name", ["input", "x", "a", "x1", "self"])
def test_names_of_the_first_argument(name: str) -> None:
    x = tensor([1.0, 2.0])
    assert gradwright.sum(**{name: x}).item() == 3.0
    assert gradwright.add(**{name: x}, x2=x).tolist() == [2.0, 4.0]
    assert gradwright.maximum(**{name: x}, other=x).tolist() == [1.0, 2.0]
    assert x.maximum(x2=x).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("first", "second"), [("dim", "axis"), ("axis", "dim")])
def test_an_argument_under_two_names(first: str, second: str) -> None:
    x = tensor([1.0, 2.0])
    for function, value in ((gradwright.cat, [x]), (gradwright.sum, x), (gradwright.amax, x)):
        with pytest.raises(TypeError):
            function(value, **{first: 0, second: 0})
        with pytest.raises(TypeError):
            function(value, 0, axis=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        gradwright.cat([x], foo=1)


def test_old_orders_of_arguments() -> None:
    t, m = tensor([1.0, 2.0]), tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.warns(UserWarning, match="This overload of add_ is deprecated") as found:
        assert t.clone().add_(2.0, t).tolist() == [3.0, 6.0]
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert t.sub(2.0, t).tolist() == [-1.0, -2.0]
        assert t.addcmul_(0.5, t.clone(), t.clone()).tolist() == [1.5, 4.0]
        wanted = gradwright.addmm(m, m, m, beta=0.5, alpha=2).tolist()
        assert gradwright.addmm(0.5, m, 2, m, m).tolist() == wanted
        assert m.addmm(0.5, 2, m, m).tolist() == wanted
        assert m.clone().addmm_(0.5, 2, m, m).tolist() == wanted
        out = gradwright.empty(2, 2)
        assert gradwright.addmm(0.5, m, 2, m, m, out=out) is out
        assert out.tolist() == wanted
        assert gradwright.addmm(0.5, m, m, m).tolist() == gradwright.addmm(m, m, m, beta=0.5).tolist()


def test_old_orders_are_differentiated() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="deprecated"):
        x.addcmul(3.0, x, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [7.0, 13.0]


def test_wrong_arguments_of_operators_with_factors() -> None:
    t = tensor([1.0, 2.0])
    for arguments in ((t, t), (t, t, t, t, t), (2.0, t, t, t)):
        with pytest.raises(TypeError, match=r"addcmul\(Tensor self, Tensor tensor1, Tensor tensor2"):
            gradwright.addcmul(*arguments)
    with pytest.raises(TypeError, match=r"addmm\(Tensor self"):
        t.addmm(2.0)


def test_numbers_in_the_place_of_tensors() -> None:
    t, i = tensor([1.0, 2.0]), tensor([1, 2])
    assert gradwright.mul(2, 3).tolist() == 6
    assert gradwright.div(3, 2).tolist() == 1.5
    assert gradwright.add(np.float64(2), t).dtype is gradwright.float32
    assert gradwright.sub(2, other=t).tolist() == [1.0, 0.0]
    assert gradwright.mul(np.float32(2), i).dtype is gradwright.float32
    with pytest.raises(TypeError):
        gradwright.maximum(2, 3)


def test_signs() -> None:
    t, i, b = tensor([1.0, 2.0]), tensor([1, 2]), tensor([True, False])
    assert (1 << i).tolist() == [2, 4]
    assert (16 >> i).tolist() == [8, 4]
    assert (+t) is t
    with pytest.raises(RuntimeError, match=r"(?i)bool"):
        +b
    with pytest.raises(TypeError, match="only implemented on integer and Boolean-type"):
        ~t
    assert (~b).tolist() == [False, True]
    with pytest.raises(TypeError):
        2 @ t
    same = i
    i <<= 1
    assert same is i
    assert i.tolist() == [2, 4]
    i >>= 1
    assert same.tolist() == [1, 2]


def test_arrays_beside_signs() -> None:
    t, a = tensor([1.0, 2.0]), np.array([3.0, 2.0])
    for out, wanted in ((t + a, [4.0, 4.0]), (t * a, [3.0, 4.0]), (a / t, [3.0, 1.0]), (t @ a, 7.0)):
        assert isinstance(out, gradwright.Tensor)
        assert out.dtype is gradwright.float64
        assert out.tolist() == wanted
    assert (t == a).tolist() == (a == t).tolist() == [False, True]
    assert (t != a).tolist() == (a != t).tolist() == [True, False]
    assert (tensor(2.0) + np.array(1.0)).tolist() == 3.0
    with pytest.raises(TypeError):
        a + t
    with pytest.raises(TypeError):
        _ = t < a
    with pytest.raises(RuntimeError, match="requires grad"):
        tensor([1.0, 2.0], requires_grad=True) + a
    kept = t
    t += a
    assert t.dtype is gradwright.float64
    assert kept.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("torch.softmax(x)", "dim"),
        ("torch.softmax(dim=0)", "self"),
        ("torch.tanh()", "self"),
        ("torch.matmul(x)", "other"),
        ("torch.dropout(x)", "p"),
        ("torch.reshape(x)", "shape"),
        ("torch.gather(x, 0)", "index"),
        ("x.gather(0)", "index"),
        ("x.softmax()", "dim"),
        ("x.cumsum()", "dim"),
        ("x.transpose(0)", "dim1"),
        ("x.transpose(dim0=0)", "dim1"),
        ("torch.transpose(x, 0)", "dim1"),
        ("x.permute()", "dims"),
        ("x.expand()", "size"),
        ("x.swapaxes(0)", "axis1"),
        ("x.as_strided((2,))", "stride"),
        ("x.unfold(0, 1)", "step"),
        ("x.new_full((2,))", "fill_value"),
        ("torch.full((2,))", "fill_value"),
    ],
)
def test_a_missing_argument_has_a_name(call: str, name: str) -> None:
    function = call.partition("(")[0].rpartition(".")[2]
    with pytest.raises(
        TypeError, match=rf"{function}\(\): .*missing required argument '{name}'.*\n  schema: {function}"
    ):
        eval(call, {"torch": gradwright, "x": gradwright.ones(2, 2)})


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("x.view()", "view(Tensor(a) self, SymInt[] size) -> Tensor(a): missing required argument 'size'"),
        ("torch.mul(x)", "mul.Tensor(Tensor self, Tensor other) -> Tensor: missing required argument 'other'"),
        (
            "x.lerp()",
            "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor: missing required arguments 'end', 'weight'",
        ),
        ("x.pow()", "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor: missing required argument 'exponent'"),
    ],
)
def test_of_several_overloads_each_says_what_it_misses(call: str, line: str) -> None:
    with pytest.raises(TypeError, match="but expected one of") as raised:
        eval(call, {"torch": gradwright, "x": gradwright.ones(2, 2)})
    assert f" * {line}" in str(raised.value).splitlines()


def test_every_function_of_an_operator_says_what_is_missing() -> None:
    """All that a Tensor alone is too little for, in place and with out= as well."""
    x, asked, wrong = gradwright.ones(2, 2), 0, {}
    for name, known in registered.generated_in(BUILT_IN).items():
        signature = known.operator.signature
        first, *rest = signature.parameters
        if first.type != "Tensor" or not any(parameter.required for parameter in rest):
            continue
        asked += 1
        missing = next(parameter.name for parameter in rest if parameter.required)
        out = {"out": x.clone()} if known.variant == "out" else {}
        try:
            known.function(x.clone(), **out)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        else:
            text = "nothing"
        if not text.startswith("TypeError") or f"missing required argument '{missing}'\n  schema: " not in text:
            wrong[name] = text
    assert asked > 1000
    assert wrong == {}
