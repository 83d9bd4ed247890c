"""Files of `save` and `load`: PyTorch reads ours, and we read PyTorch's."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.two_modules import assert_same, attempt

Library = Any
LIBRARIES = (torch, gradwright)
DTYPES = [
    "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "bool",
]  # fmt: skip


def carried(value: Any, writer: Library, reader: Library, **options: Any) -> Any:
    file = io.BytesIO()
    writer.save(value, file)
    file.seek(0)
    return reader.load(file, **options)


def numbers(library: Library, tensor: Any) -> Any:
    wide = tensor.to(library.complex128 if tensor.dtype.is_complex else library.float64)
    return wide.detach().numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("writer", "reader"), [(torch, gradwright), (gradwright, torch), (gradwright, gradwright)])
def test_all_dtypes(writer: Library, reader: Library, dtype: str) -> None:
    given = writer.tensor([[0, 1, 2], [3, 1, 0]]).to(getattr(writer, dtype))
    found = carried([given, given.T, given[1:], getattr(writer, dtype)], writer, reader)
    for one, other in zip(found[:3], (given, given.T, given[1:]), strict=True):
        assert str(one.dtype).rpartition(".")[2] == dtype
        assert tuple(one.stride()) == tuple(other.stride())
        np.testing.assert_array_equal(numbers(reader, one), numbers(writer, other))
    assert found[3] is getattr(reader, dtype)
    found[0][1, 0] = 1  # memory that is shared stays so
    assert numbers(reader, found[2])[0, 0] == 1


def values(library: Library) -> Any:
    nn = library.nn
    library.manual_seed(0)
    parameter = nn.Parameter(library.arange(3.0), requires_grad=False)
    parameter.note = "mine"
    tensor = library.arange(4.0)
    tensor.note = [1, 2]
    return {
        "numbers": [1, -5, 2**40, 2**70, 1.5, True, None, 3 + 4j, "text", "é", b"bytes", bytearray(b"abc")],
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {1, 2}, {"a": {"b": []}}, OrderedDict(a=1)],
        "counter": Counter("aab"),
        "leaf": library.ones(2, requires_grad=True),
        "scalar": library.tensor(2.5),
        "empty": library.empty(0, 3),
        "wide": library.ones(1, 3).expand(4, 3),
        "steps": library.arange(10.0)[1::3],
        "parameter": nn.Parameter(library.arange(6.0).reshape(2, 3)),
        "with_state": parameter,
        "with_attributes": tensor,
        "conj": library.tensor([1 + 2j, 3 - 1j]).conj(),
        "neg": library.tensor([1 + 2j, 3 - 1j]).conj().imag,
        "dtype": library.bfloat16,
        "size": library.Size([2, 3]),
        "device": library.device("cpu"),
        "meta": library.empty(2, 3, device="meta"),
    }


@pytest.mark.parametrize(("writer", "reader"), [(torch, gradwright), (gradwright, torch), (gradwright, gradwright)])
@pytest.mark.parametrize("protocol", [2, 4])
def test_values(writer: Library, reader: Library, protocol: int) -> None:
    if protocol == 4 and reader is torch:
        return  # PyTorch warns of it
    file = io.BytesIO()
    writer.save(values(writer), file, pickle_protocol=protocol)
    file.seek(0)
    found, expected = reader.load(file), values(torch)
    assert found.pop("counter") == expected.pop("counter")
    assert_same(plain(found), plain(expected))
    assert found["with_state"].note == "mine"
    assert found["with_attributes"].note == [1, 2]
    assert isinstance(found["parameter"], reader.nn.Parameter)


def plain(value: Any) -> Any:
    """Tensors as arrays with what else there is to them, the rest as texts."""
    if isinstance(value, torch.Tensor | gradwright.Tensor):
        array = [] if value.is_meta else value.detach().resolve_conj().resolve_neg().tolist()
        kind = type(value).__name__.replace("MetaTensor", "Tensor")
        return [kind, str(value.dtype).rpartition(".")[2], list(value.shape), value.requires_grad, repr(array)]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return repr(value)


def network(library: Library) -> Any:
    nn = library.nn
    library.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


@pytest.mark.parametrize(("writer", "reader"), [(torch, gradwright), (gradwright, torch)])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop"])
def test_training_goes_on_from_a_file_of_the_other(writer: Library, reader: Library, kind: str) -> None:
    def step(library: Library, model: Any, optimizer: Any) -> float:
        x = library.linspace(-1, 1, 12).reshape(4, 3)
        optimizer.zero_grad()
        loss = (model(x) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    made = {}
    for library in LIBRARIES:
        model = network(library)
        made[library] = model, getattr(library.optim, kind)(model.parameters(), lr=0.01)
    for _ in range(3):
        step(writer, *made[writer])
    states = [one.state_dict() for one in made[writer]]
    for one, state in zip(made[reader], carried(states, writer, reader), strict=True):
        one.load_state_dict(state)
    for _ in range(3):
        np.testing.assert_allclose(step(reader, *made[reader]), step(writer, *made[writer]), rtol=1e-4)


def test_whole_modules_of_pytorch_are_read_where_the_file_is_trusted() -> None:
    model = network(torch).eval()
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.container\.Sequential"):
        carried(model, torch, gradwright)
    found = carried(model, torch, gradwright, weights_only=False)
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_allclose(
        found(gradwright.tensor(x)).detach().numpy(), model(torch.tensor(x)).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_paths_and_the_names_in_an_archive(tmp_path: Path) -> None:
    for library in LIBRARIES:
        path = tmp_path / f"{library.__name__}.pt"
        library.save({"a": library.ones(3)}, path)
        for reader in LIBRARIES:
            assert reader.load(str(path))["a"].tolist() == [1, 1, 1]
            assert reader.load(path, mmap=True)["a"].tolist() == [1, 1, 1]
    names = [
        sorted(name.partition("/")[2] for name in zipfile.ZipFile(tmp_path / f"{library.__name__}.pt").namelist())
        for library in LIBRARIES
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "where",
    [
        None,
        "cpu",
        {"cpu": "cpu"},
        {"cuda:0": "cpu"},
        lambda storage, place: storage,
        lambda storage, place: None,
        "meta",
    ],
    ids=["nothing", "cpu", "cpu to cpu", "cuda to cpu", "a function", "a function of none", "meta"],
)
def test_map_location(where: Any) -> None:
    for writer, reader in ((torch, gradwright), (gradwright, torch)):
        found = carried(writer.arange(3.0), writer, reader, map_location=where)
        assert found.device.type == ("meta" if where == "meta" else "cpu")
        assert tuple(found.shape) == (3,)


def test_what_is_refused() -> None:
    def refused(library: Library) -> Any:
        x = library.ones(4)
        file = io.BytesIO(b"not an archive at all")
        return [
            attempt(lambda: library.save([x, x.view(library.int32)], io.BytesIO()), message=False),
            attempt(lambda: library.load(3), message=False),
            attempt(lambda: library.save(x, 3), message=False),
            attempt(lambda: library.load(Path("/none/of/it")), message=False),
            type(attempt(lambda: library.load(file), message=False)).__name__,
        ]

    assert refused(gradwright) == refused(torch)


class Mine:
    def __init__(self) -> None:
        self.value = 3


def test_classes_that_users_allow() -> None:
    for library in LIBRARIES:
        file = io.BytesIO()
        library.save({"mine": Mine()}, file)

        def load(library: Library = library, file: Any = file) -> Any:
            file.seek(0)
            return library.load(file)

        with pytest.raises(pickle.UnpicklingError, match=f"{Mine.__module__}.Mine"):
            load()
        file.seek(0)
        assert library.serialization.get_unsafe_globals_in_checkpoint(file) == [f"{Mine.__module__}.Mine"]
        with library.serialization.safe_globals([Mine]):
            assert load()["mine"].value == 3
            assert Mine in library.serialization.get_safe_globals()
        assert Mine not in library.serialization.get_safe_globals()
        library.serialization.add_safe_globals([(Mine, f"{Mine.__module__}.Mine")])
        assert load()["mine"].value == 3
        library.serialization.clear_safe_globals()
        with pytest.raises(pickle.UnpicklingError):
            load()


# -- storages


def test_storages() -> None:
    def body(library: Library) -> Any:
        x = library.arange(6.0).reshape(2, 3)
        memory = x.untyped_storage()
        found: list[Any] = [
            memory.nbytes(),
            len(memory),
            memory.element_size(),
            memory.tolist()[:8],
            str(memory.device),
        ]
        found += [x[1].untyped_storage().data_ptr() == memory.data_ptr() == x.data_ptr(), x[1].storage_offset()]
        y = library.empty(0).set_(memory, 2, (2, 2), (1, 2))
        y[0, 0] = 9
        found += [x.clone(), y.clone(), list(y.stride()), y.is_set_to(x), x.is_set_to(x)]
        z = library.empty(0).set_(x)
        found += [z.is_set_to(x), list(library.empty(3).set_().shape), library.empty(0).set_(memory).shape[0]]
        z.add_(1)
        found += [x.clone(), x.resize_(2, 2).clone(), x.resize_((4,)).clone(), list(x.resize_(3, 3).shape)]
        found += [list(library.ones(2).resize_as_(library.ones(3, 1)).shape)]
        other = memory.clone()
        other.fill_(0)
        other[0] = 7
        found += [other.tolist()[:4], library.UntypedStorage(5).nbytes(), other[1:3].tolist()]
        return found

    assert_same(body(gradwright), body(torch))


ERRORS = """
torch.ones(2).set_(torch.ones(2).untyped_storage(), 1, (2,), (1,))
torch.ones(2).set_(torch.ones(2, dtype=torch.int64))
torch.ones(2, requires_grad=True).set_(torch.ones(3))
torch.ones(2, requires_grad=True).resize_(3)
torch.ones(2).resize_(-1)
torch.ones(2).set_(torch.ones(2), -1, (1,), (1,))
""".strip().splitlines()


@pytest.mark.parametrize("line", ERRORS)
def test_errors_of_storages(line: str) -> None:
    kinds = []
    for library in LIBRARIES:
        made = attempt(lambda library=library: eval(line, {"torch": library}), message=False)  # type: ignore[misc]
        kinds.append(getattr(made, "kind", "none"))
    assert kinds[0] == kinds[1] != "none"
