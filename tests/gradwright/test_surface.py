"""Small parts of the public surface: dtypes by Python types, devices, attributes of Tensors, generators, namespaces."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable

import pytest

import gradwright
from gradwright import tensor
from gradwright.func import functional_call
from gradwright.nn import Linear, Parameter, ReLU

INTS = (2**63, -(2**63) - 1, 2**100)


# -- dtypes


def test_limits_of_python_types() -> None:
    assert gradwright.finfo(float) == gradwright.finfo(gradwright.float64)
    assert gradwright.finfo(complex).dtype == "float64"
    assert gradwright.finfo(type=float).max == gradwright.finfo(gradwright.float64).max
    assert gradwright.finfo().dtype == "float32"
    assert gradwright.iinfo(int) == gradwright.iinfo(gradwright.int64)
    for wrong in (int, bool, None, "float32", gradwright.int8):
        with pytest.raises(TypeError):
            gradwright.finfo(wrong)
    for wrong in (float, bool, None, gradwright.float32):
        with pytest.raises(TypeError):
            gradwright.iinfo(wrong)
    with pytest.raises(TypeError):
        gradwright.iinfo()


def test_promotion_of_python_types() -> None:
    assert gradwright.promote_types(float, int) is gradwright.float64
    assert gradwright.promote_types(int, int) is gradwright.int64
    assert gradwright.can_cast(int, float)
    assert not gradwright.can_cast(float, int)
    with pytest.raises(TypeError):
        gradwright.can_cast("float", int)


# -- devices


def test_device_as_a_block() -> None:
    assert gradwright.get_default_device() == gradwright.device("cpu")
    with gradwright.device("cpu:0") as place:
        assert place is not None
        assert gradwright.get_default_device() == gradwright.device("cpu:0")
        assert gradwright.zeros(2).tolist() == [0.0, 0.0]
        with gradwright.device("cpu"):
            assert gradwright.get_default_device().index is None
        with pytest.raises(ZeroDivisionError), gradwright.device("cpu"):
            _ = 1 / 0
        assert gradwright.get_default_device().index == 0
    assert gradwright.get_default_device().index is None


def test_set_default_device() -> None:
    gradwright.set_default_device("cpu:0")
    try:
        assert gradwright.get_default_device().index == 0
        found: list[gradwright.device] = []
        thread = threading.Thread(target=lambda: found.append(gradwright.get_default_device()))
        thread.start()
        thread.join()
        assert found[0].index is None
    finally:
        gradwright.set_default_device(None)
    assert gradwright.get_default_device().index is None


@pytest.mark.parametrize(
    ("place", "made", "copied"),
    [
        ("vulkan", NotImplementedError, RuntimeError),
        ("mps", NotImplementedError, RuntimeError),
        ("mkldnn", RuntimeError, RuntimeError),
        ("cuda:0", AssertionError, AssertionError),
        ("mtia", AssertionError, AssertionError),
        ("hpu", ModuleNotFoundError, ModuleNotFoundError),
    ],
)
def test_devices_that_there_are_not_have_names_and_nothing_else(
    place: str, made: type[Exception], copied: type[Exception]
) -> None:
    device = gradwright.device(place)
    assert (str(device), device) == (place, gradwright.device(device.type, device.index))
    assert pickle.loads(pickle.dumps(device)) == copy.deepcopy(device) == device
    assert gradwright.ones(1).device != device
    makes = (
        lambda **where: gradwright.zeros(2, **where),
        lambda **where: gradwright.rand(2, **where),
        lambda **where: gradwright.eye(2, **where),
        lambda **where: Linear(1, 1, **where),
    )
    copies = (
        lambda: gradwright.tensor([1], device=place),
        lambda: gradwright.as_tensor([1], device=place),
        lambda: gradwright.ones(1).to(device),
        lambda: Linear(1, 1).to(place),
    )

    def assert_raises(use: Callable[[], object], error: type[Exception]) -> None:
        with pytest.raises(Exception, match=f"Gradwright has no {device.type.upper()}: ") as raised:
            use()
        assert type(raised.value) is error

    for make in makes:
        assert_raises(lambda make=make: make(device=place), made)  # type: ignore[misc]
    assert_raises(lambda: gradwright.ones(1).new_zeros(1, device=device), made)
    assert_raises(lambda: gradwright.ones_like(gradwright.ones(1), device=device), made)
    for copy_there in copies:
        assert_raises(copy_there, copied)
    with device:
        assert gradwright.get_default_device() == device
        assert_raises(lambda: gradwright.zeros(1), made)
        assert_raises(lambda: gradwright.tensor([1]), copied)
    try:
        gradwright.set_default_device(place)
        assert_raises(lambda: gradwright.tensor([1]), copied)
        for make in makes:
            assert_raises(make, made)
    finally:
        gradwright.set_default_device(None)
    assert gradwright.zeros(1).tolist() == [0.0]


def test_numbers_of_devices() -> None:
    x, module = gradwright.ones(1), Linear(1, 1)
    for use in (
        lambda at: gradwright.device(at),
        lambda at: gradwright.zeros(2, device=at),
        lambda at: x.to(at),
        lambda at: x.to(device=at),
        lambda at: x.to(at, gradwright.float64),
        lambda at: x.cuda(at),
        lambda at: x.xpu(at),
        lambda at: module.to(at),
        lambda at: module.cuda(at),
        lambda at: gradwright.tensor(1, device=at),
        lambda at: gradwright.as_tensor(x, device=at),
    ):
        with pytest.raises(RuntimeError, match="accelerator"):
            use(0)
        with pytest.raises(RuntimeError, match="must not be negative"):
            use(-1)
    with pytest.raises(RuntimeError, match="must not be negative"):
        gradwright.device("cpu", -2)
    with pytest.raises(RuntimeError, match="must not be empty"):
        gradwright.device("")
    for wrong in (lambda: gradwright.zeros(2, device=3.0), lambda: x.to(None, 0), lambda: x.cuda(1.5)):
        with pytest.raises(TypeError):
            wrong()
    assert gradwright.get_default_device().type == "cpu"


@pytest.mark.parametrize(
    ("kind", "error"),
    [("cuda", AssertionError), ("xpu", AssertionError), ("ipu", RuntimeError), ("mtia", AssertionError)],
)
def test_methods_that_are_named_after_a_kind_of_device(kind: str, error: type[Exception]) -> None:
    for owner in (gradwright.ones(1), Linear(1, 1)):
        with pytest.raises(error, match=f"no {kind.upper()}") as raised:
            getattr(owner, kind)()
        assert type(raised.value) is error
        with pytest.raises(RuntimeError, match=f"must be {kind} device"):
            getattr(owner, kind)("cpu")
    parameterless = ReLU()
    assert getattr(parameterless, kind)() is parameterless


# -- attributes


@pytest.mark.parametrize("make", [tensor, lambda data: Parameter(tensor(data))])
def test_attributes_of_tensors(make) -> None:
    x = make([1.0, 2.0])
    assert x.__dict__ == {}
    x.note = ["kept"]
    assert x.note == ["kept"]
    assert vars(x) == {"note": ["kept"]}
    assert "note" in dir(x)
    for other in (x + 1, x.clone(), x.detach(), x[:], x.view(2), x.data):
        assert not hasattr(other, "note")
    assert x.requires_grad_() is x
    assert x.note == ["kept"]
    assert copy.copy(x).note is x.note
    twins = [pickle.loads(pickle.dumps(x))]
    if type(x) is gradwright.Tensor:  # the copy of a Parameter has no attributes
        twins.append(copy.deepcopy(x))
    for twin in twins:
        assert twin.note == ["kept"]
        assert twin.note is not x.note
        assert twin.tolist() == [1.0, 2.0]
    del x.note
    with pytest.raises(AttributeError):
        _ = x.note
    for name in ("shape", "ndim", "dtype", "is_leaf"):
        with pytest.raises(AttributeError):
            setattr(x, name, 3)


def test_attributes_of_one_tensor_are_on_no_other() -> None:
    x, y = gradwright.ones(2), gradwright.ones(2) * 1
    x.mark = 1
    y.__dict__["mark"] = 2
    assert x.mark == 1
    assert y.mark == 2
    for other in (gradwright.ones(2), x * y, x.view(2, 1), gradwright.Tensor([1.0])):
        assert not hasattr(other, "mark")
        assert vars(other) == {}
        with pytest.raises(AttributeError, match="mark"):
            del other.mark


def test_attributes_do_not_outlive_their_tensor() -> None:
    """A Tensor that is made in the memory of another has none; a cycle is found."""
    for _ in range(50):
        x = tensor([1.0]) * 2
        assert x.__dict__ == {}
        x.note = "kept"
        del x
    x = tensor([1.0])
    x.me = x
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_deepcopy_of_a_tensor_that_holds_itself() -> None:
    x = tensor([1.0])
    x.me = x
    twin = copy.deepcopy(x)
    assert twin is not x
    assert twin.me is twin


def test_a_method_hidden_by_an_attribute() -> None:
    x = tensor([1.0])
    x.sum = 3
    assert x.sum == 3
    assert tensor([1.0]).sum().item() == 1.0


# -- functions


def test_split_by_a_tensor() -> None:
    x = gradwright.arange(5)
    assert [part.tolist() for part in x.tensor_split(tensor([1, 3]))] == [[0], [1, 2], [3, 4]]
    assert [part.tolist() for part in gradwright.tensor_split(x, tensor(2))] == [[0, 1, 2], [3, 4]]
    for wrong in (tensor(2.0), tensor([[1]]), tensor([1], dtype=gradwright.int32)):
        with pytest.raises(RuntimeError, match="tensor_split expected"):
            x.tensor_split(wrong)


def test_atleast_of_many() -> None:
    s, t = tensor(1.0), tensor([1.0, 2.0])
    for function, ndim in ((gradwright.atleast_1d, 1), (gradwright.atleast_2d, 2), (gradwright.atleast_3d, 3)):
        for out in (function([s, t]), function((s, t)), function(s, t)):
            assert isinstance(out, tuple)
            assert [part.dim() for part in out] == [max(ndim, 1)] * 2
        assert function(s).dim() == ndim
        assert function() == ()
        with pytest.raises(TypeError):
            function(1.0)


def test_einsum_by_lists_of_labels() -> None:
    m = tensor([[1.0, 2.0], [3.0, 4.0]])
    wanted = (m @ m).tolist()
    assert gradwright.einsum(m, [0, 1], m, [1, 2], [0, 2]).tolist() == wanted
    assert gradwright.einsum(m, [0, 1], m, [1, 2]).tolist() == wanted
    assert gradwright.einsum(m, [..., 51, 3], m, [..., 3, 1], [..., 51, 1]).tolist() == wanted
    assert gradwright.einsum(m, [0, 0]).item() == 5.0
    assert gradwright.einsum(m, [30, 2]).tolist() == m.t().tolist()  # labels stand in the order of their numbers
    ints = gradwright.ones(2, 3, 3, dtype=gradwright.int64)
    assert gradwright.einsum("bij,bjk->bik", ints, ints).tolist() == (ints * 3).tolist()
    for arguments in ((), ("i",), (m, [0, 52]), (m, [0, -1])):
        with pytest.raises(ValueError, match="einsum"):
            gradwright.einsum(*arguments)


def test_take_along_dim_counts_round() -> None:
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = gradwright.take_along_dim(x, tensor([-1, 3, 7, -7]), 0)
    assert out.tolist() == [3.0, 1.0, 2.0, 3.0]
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0, 2.0]
    with pytest.raises(RuntimeError):
        gradwright.take_along_dim(x, tensor([-1]))


def test_functional_call_with_other_names() -> None:
    layer = Linear(2, 2)
    given = {"weight": gradwright.eye(2), "bias": gradwright.zeros(2), "extra": tensor([1.0])}
    x = tensor([[1.0, 2.0]])
    assert functional_call(layer, given, (x,)).tolist() == [[1.0, 2.0]]
    assert not hasattr(layer, "extra")
    layer.scale = tensor([3.0])
    functional_call(layer, {"scale": tensor([4.0])}, (x,))
    assert layer.scale.tolist() == [3.0]
    for names, error in (
        ({"forward": x}, TypeError),
        ({"in_features": x}, TypeError),
        ({"weight": 3}, TypeError),
        ({"weight.more": x}, TypeError),
        ({"other.weight": x}, AttributeError),
        ({"": x}, KeyError),
    ):
        with pytest.raises(error):
            functional_call(layer, names, (x,))
    with pytest.raises(RuntimeError, match="Unexpected key"):
        functional_call(layer, given, (x,), strict=True)
    assert layer.weight.shape == (2, 2)


# -- generators


def test_seeds() -> None:
    generator = gradwright.Generator()
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1
    assert generator.manual_seed(-(2**63)).initial_seed() == 2**63
    assert generator.manual_seed(2**64 - 1).initial_seed() == 2**64 - 1
    for wrong in (2**64, -(2**63) - 1, 2**100):
        with pytest.raises(ValueError, match="Overflow"):
            generator.manual_seed(wrong)
    for kind in (1.5, "3", None, True):
        with pytest.raises(RuntimeError, match="expected a long"):
            generator.manual_seed(kind)
    assert gradwright.manual_seed(1.5).initial_seed() == 1


def test_state_of_a_generator() -> None:
    generator = gradwright.Generator().manual_seed(3)
    state = generator.get_state()
    first = gradwright.rand(3, generator=generator).tolist()
    assert generator.set_state(state) is generator
    assert gradwright.rand(3, generator=generator).tolist() == first
    twin = generator.clone_state()
    assert gradwright.rand(3, generator=twin).tolist() == gradwright.rand(3, generator=generator).tolist()
    assert generator.seed() == generator.initial_seed()


# -- namespaces


def test_namespaces_are_attributes() -> None:
    space = gradwright.ops.surface_test
    assert gradwright.ops.surface_test is space
    del gradwright.ops.surface_test
    assert "surface_test" not in vars(gradwright.ops)
    assert gradwright.ops.surface_test is not None
    with pytest.raises(AttributeError):
        _ = gradwright.ops.surface_test.nothing
    assert not hasattr(gradwright.ops.aten, "surface_test")


# -- integers


@pytest.mark.parametrize("number", INTS)
def test_integers_that_no_operator_takes(number: int) -> None:
    t, m = tensor([1.0, 2.0, 3.0]), gradwright.ones(2, 2)
    for call in (
        lambda: t.sum(number),
        lambda: t.mean(dim=number),
        lambda: t.amax(number),
        lambda: t.logsumexp(number),
        lambda: t.squeeze(number),
        lambda: t.roll(number),
        lambda: t.roll(number, 0),
        lambda: t.roll(0, number),
        lambda: m.rot90(number),
        lambda: t.unsqueeze(number),
        lambda: t.transpose(0, number),
        lambda: m.diagonal(number),
        lambda: t.select(0, number),
        lambda: t.narrow(0, number, 1),
        lambda: t.cumsum(number),
        lambda: t.topk(number),
        lambda: t[number],
        lambda: t[[number]],
    ):
        with pytest.raises(ValueError, match="Overflow"):
            call()
    with pytest.raises(ValueError, match="Overflow"):
        t[number] = 1.0
    for call in (
        lambda: t.sum([number]),
        lambda: t.amax((number,)),
        lambda: t.roll([number]),
        lambda: t.roll((number,), (0,)),
        lambda: t.roll((0,), (number,)),
        lambda: t.permute(number),
        lambda: t.flip(number),
        lambda: t.expand(number, 3),
        lambda: t.repeat(number),
        lambda: gradwright.zeros(number),
        lambda: gradwright.full((2, number), 1.0),
    ):
        with pytest.raises((TypeError, RuntimeError)):
            call()


def test_integers_beyond_what_there_is() -> None:
    m = tensor([[1.0, 2.0], [3.0, 4.0]])
    for far in (2**62, 2**63 - 1):
        assert m.triu(far).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert m.tril(far).tolist() == m.tolist()
        assert m.triu(-far - 1).tolist() == m.tolist()
        assert m.tril(-far - 1).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert m.clone().triu_(far).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert m.diagonal(far).tolist() == []
        assert m.diag(-far - 1).tolist() == []
        with pytest.raises(IndexError, match="Dimension out of range"):
            m.transpose(0, far)
        for call in (
            lambda far=far: gradwright.eye(far),
            lambda far=far: gradwright.arange(far),
            lambda far=far: m[0].diag(far),
            lambda far=far: m.expand(far, 2, 2),
            lambda far=far: m.repeat(far, 1),
            lambda far=far: gradwright.constant_pad_nd(m, (far, 0)),
        ):
            with pytest.raises(RuntimeError):
                call()


# -- names of old programs


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_typed_storages() -> None:
    storage = gradwright.FloatStorage([1, 2.5])
    assert storage.tolist() == [1.0, 2.5]
    assert isinstance(storage, gradwright.FloatStorage)
    assert not isinstance(storage, gradwright.DoubleStorage)
    assert isinstance(storage, gradwright.TypedStorage)
    assert gradwright.is_storage(storage)
    assert not gradwright.is_storage(tensor([1.0]))
    assert gradwright.LongStorage(3).nbytes() == 24
    assert gradwright.ByteStorage().size() == 0
    x = tensor([1, 2])
    assert x.storage_type() is gradwright.LongStorage
    again = gradwright.LongStorage(wrap_storage=x.untyped_storage())
    again[0] = 5
    assert x.tolist() == [5, 2]
    for wrong in (2.5, "text", x):
        with pytest.raises(TypeError, match="FloatStorage"):
            gradwright.FloatStorage(wrong)
    with pytest.raises(RuntimeError, match="wrap_storage"):
        gradwright.FloatStorage(1, 2)


def test_what_is_removed_says_what_to_use() -> None:
    x = gradwright.eye(2)
    for name, instead in (("eig", "linalg.eig"), ("symeig", "linalg.eigh")):
        with pytest.raises(RuntimeError, match=instead):
            getattr(gradwright, name)(x)
        with pytest.raises(RuntimeError, match=instead):
            getattr(x, name)()
    for name in ("lstsq", "solve"):
        with pytest.raises(RuntimeError, match=f"linalg.{name}"):
            getattr(gradwright, name)(x, x)
        with pytest.raises(RuntimeError, match=f"linalg.{name}"):
            getattr(x, name)(x)
    with pytest.raises(RuntimeError, match="distributions"):
        x.reinforce(1)
    with pytest.warns(UserWarning, match="deprecated"):
        assert x.resize(4).tolist() == [1.0, 0.0, 0.0, 1.0]
    with pytest.warns(UserWarning, match="deprecated"):
        assert x.resize_as(gradwright.ones(1, 4)).shape == (1, 4)
    with pytest.warns(UserWarning, match="deprecated"), pytest.raises(RuntimeError, match="requested resize"):
        x.resize(3)


def test_errors_of_devices_are_the_same_everywhere() -> None:
    assert gradwright.cuda.OutOfMemoryError is gradwright.OutOfMemoryError
    assert gradwright.cuda.AcceleratorError is gradwright.AcceleratorError
    assert issubclass(gradwright.OutOfMemoryError, RuntimeError)


def test_anomaly_mode_as_a_call() -> None:
    try:
        gradwright.set_anomaly_enabled(True, False)
        assert gradwright.is_anomaly_enabled()
        assert not gradwright.is_anomaly_check_nan_enabled()
    finally:
        gradwright.set_anomaly_enabled(False)
    assert not gradwright.is_anomaly_enabled()
    with pytest.raises(TypeError, match="must be bool"):
        gradwright.set_anomaly_enabled(1)  # type: ignore[arg-type]


def test_fill_diagonal() -> None:
    x = gradwright.zeros(5, 2, requires_grad=True)
    y = x + 1
    assert y.fill_diagonal_(3.0, wrap=True) is y
    assert y.tolist() == [[3.0, 1.0], [1.0, 3.0], [1.0, 1.0], [3.0, 1.0], [1.0, 3.0]]
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    assert gradwright.zeros(2, 2, 2).fill_diagonal_(1.0).nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(RuntimeError, match="larger than 1"):
        gradwright.zeros(2).fill_diagonal_(1.0)
    with pytest.raises(RuntimeError, match="equal length"):
        gradwright.zeros(2, 2, 3).fill_diagonal_(1.0)


def test_options_of_factories() -> None:
    assert gradwright.nn.factory_kwargs(None) == {}
    given = {"device": "cpu", "factory_kwargs": {"dtype": gradwright.float64}}
    assert gradwright.nn.factory_kwargs(given) == {"device": "cpu", "dtype": gradwright.float64}
    for wrong in ({"size": 1}, {"dtype": 1, "factory_kwargs": {"dtype": 2}}):
        with pytest.raises(TypeError):
            gradwright.nn.factory_kwargs(wrong)
