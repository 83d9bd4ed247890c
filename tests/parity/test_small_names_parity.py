"""Small names: errors, legacy storages, what is removed, questions about overrides, the same in both libraries."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from support.both import assert_same, outcome


def test_errors_of_devices() -> None:
    def body(torch: Any) -> Any:
        return (
            [[kind.__name__ for kind in error.__mro__] for error in (torch.OutOfMemoryError, torch.AcceleratorError)],
            torch.cuda.OutOfMemoryError is torch.OutOfMemoryError,
            torch.cuda.AcceleratorError is torch.AcceleratorError,
        )

    assert_same(body)


# -- storages

KINDS = ["Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double"]


@pytest.mark.parametrize("kind", KINDS)
def test_typed_storages(kind: str) -> None:
    def body(torch: Any) -> Any:
        cls = getattr(torch, f"{kind}Storage")
        data = cls([1, 0, 1])
        wrapped = cls(wrap_storage=data.untyped())
        wrapped[1] = 1
        tensor = torch.ones(2, dtype=cls.dtype)
        return (
            [cls().size(), cls(3).size(), cls(3).nbytes(), len(cls(range(4)))],
            [data.tolist(), data.dtype is cls.dtype, isinstance(data, torch.TypedStorage), data[2]],
            [isinstance(data, cls), isinstance(tensor.storage(), cls), isinstance(tensor, cls)],
            [isinstance(torch.ones(2, dtype=torch.complex128).storage(), cls), issubclass(cls, torch.TypedStorage)],
            [tensor.storage_type() is cls, cls.__name__, repr(cls).rpartition(".")[2]],
        )

    assert_same(body)


def test_storages_of_complex_numbers() -> None:
    def body(torch: Any) -> Any:
        return torch.ComplexFloatStorage([1j]).tolist(), torch.ComplexDoubleStorage([2, 1j]).tolist()

    assert_same(body)


@pytest.mark.parametrize(
    "text",
    [
        "S(3.5)",
        "S('text')",
        "S(1, 2)",
        "S(dtype=torch.float32)",
        "S(device='cpu')",
        "S(3, wrap_storage=torch.ones(1).untyped_storage())",
        "S(S([1]))",
        "S(torch.ones(3))",
        "S(-1)",
    ],
)
def test_wrong_arguments_of_storages(text: str) -> None:
    assert_same(lambda torch: eval(text, {"torch": torch, "S": torch.FloatStorage}))


def test_is_storage() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2)
        values = (x.storage(), x.untyped_storage(), x, torch.FloatStorage, None)
        return [torch.is_storage(value) for value in values]

    assert_same(body)


# -- what was removed


@pytest.mark.parametrize(
    "text",
    [
        *(f"torch.{name}({args})" for name in ("eig", "lstsq", "solve", "symeig") for args in ("x", "x, x")),
        *(f"x.{name}({args})" for name in ("eig", "lstsq", "solve", "symeig", "reinforce") for args in ("", "x")),
        "torch.eig(x, eigenvectors=True)",
        "torch.symeig(x, True, upper=False)",
        "torch.lstsq(x, x, out=x)",
    ],
)
def test_removed_functions(text: str) -> None:
    def body(torch: Any) -> Any:
        return eval(text, {"torch": torch, "x": torch.ones(2, 2)})

    assert outcome(body, __import__("torch"))[0] == "raised"
    assert_same(body)


@pytest.mark.parametrize(
    "text",
    ["resize(3, 2)", "resize(6)", "resize(7)", "resize()", "resize((3, 2))", "resize_as(torch.ones(3, 2))",
     "resize_as(torch.ones(7))", "resize(-1)"],
)  # fmt: skip
def test_resize(text: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = eval(f"x.{text}", {"torch": torch, "x": x})
        (out * out).sum().backward()
        return out, x.grad, [(str(warning.message), warning.category) for warning in caught]

    assert_same(body)


# -- others


def test_anomaly_mode_as_a_call() -> None:
    def body(torch: Any) -> Any:
        found = []
        try:
            for args in ((True,), (True, False), (False,), (False, True)):
                torch.set_anomaly_enabled(*args)
                found.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
            torch.set_anomaly_enabled(True)
            x = torch.zeros(1, requires_grad=True)
            (x / x).backward()
        except RuntimeError as error:
            found.append("nan" in str(error))
        finally:
            torch.set_anomaly_enabled(False)
        return found

    assert_same(body)


@pytest.mark.parametrize("args", [(), (1,), (True, 1)])
def test_wrong_arguments_of_anomaly_mode(args: tuple[Any, ...]) -> None:
    assert_same(lambda torch: torch.set_anomaly_enabled(*args))


def test_questions_about_overrides() -> None:
    def body(torch: Any) -> Any:
        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return super().__torch_function__(func, types, args, kwargs or {})

        x = torch.ones(2)
        mine = x.as_subclass(Mine)
        functional = torch.nn.functional
        return [
            (
                functional.has_torch_function((value,)),
                functional.has_torch_function_unary(value),
                functional.has_torch_function_variadic(x, value),
            )
            for value in (x, mine, 3)
        ]

    assert_same(body)


@pytest.mark.parametrize("value", [3, (1, 2), [1, 2], (1,), (1, 2, 3)])
def test_one_number_or_two(value: Any) -> None:
    assert_same(lambda torch: torch.nn.functional.assert_int_or_pair(value, "size", "{} has to be 1 or 2 numbers"))


def test_options_of_factories() -> None:
    def body(torch: Any) -> Any:
        return [
            torch.nn.factory_kwargs(None),
            torch.nn.factory_kwargs({"device": "cpu"}),
            torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": "given"}}),
        ]

    def twice(torch: Any) -> Any:
        torch.nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})

    def unknown(torch: Any) -> Any:
        torch.nn.factory_kwargs({"size": 1})

    for each in (body, twice, unknown):
        assert_same(each)


# -- fill_diagonal_


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (7, 2), (4, 3), (8, 3), (3, 3, 3), (2, 2, 2, 2), (0, 0), (0, 3), (2,), (),
                                   (2, 3, 2), (1, 1)])  # fmt: skip
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(shape)
        out = x.fill_diagonal_(5, wrap=wrap)
        return out is x, x

    def gradient(torch: Any) -> Any:
        x = torch.ones(shape, requires_grad=True)
        y = x * 2
        y.fill_diagonal_(1.5, wrap)
        (y * y).sum().backward()
        return y, x.grad

    assert_same(body)
    assert_same(gradient)


def test_fill_diagonal_of_views_and_integers() -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(3, 4, 2)
        x[..., 1].t().fill_diagonal_(1)
        return x, torch.zeros(2, 2, dtype=torch.int64).fill_diagonal_(1.5)

    def leaf(torch: Any) -> Any:
        torch.zeros(2, 2, requires_grad=True).fill_diagonal_(1)

    assert_same(body)
    assert_same(leaf)


# -- what is for devices and layouts that are not there


def test_data_parallel_without_devices() -> None:
    def body(torch: Any) -> Any:
        module = torch.nn.Linear(2, 1)
        with torch.no_grad():
            module.weight.fill_(0.5), module.bias.zero_()
        parallel = torch.nn.DataParallel(module, device_ids=[0, 1], output_device=0, dim=0)
        out = parallel(torch.ones(3, 2))
        out.sum().backward()
        same = parallel.module is module, torch.nn.parallel.DataParallel is torch.nn.DataParallel
        named = parallel(input=torch.ones(1, 2))
        return out, named, module.weight.grad, list(parallel.state_dict()), parallel.device_ids, same

    assert_same(body)


@pytest.mark.parametrize(
    "text",
    [
        *("spmm(x, x.T)", "dsmm(x, mat2=x.T)", "spmm(x, x)", "spmm(x, 3)", "spmm(x, torch.ones(3))"),
        *("spmm(x.half(), x.T)", "spmm(x, x.T, out=torch.empty(2, 2))"),
    ],
)
def test_products_of_dense_matrices_under_other_names(text: str) -> None:
    assert_same(lambda torch: eval(f"torch.{text}", {"torch": torch, "x": torch.arange(6.0).reshape(2, 3)}))


@pytest.mark.parametrize("name", ["ipu", "mtia"])
def test_devices_that_are_not_there(name: str) -> None:
    assert_same(lambda torch: getattr(torch.ones(2), name)())
