"""Files and copies: what a file may do, and that everything public can be pickled and copied."""

from __future__ import annotations

import copy
import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from gradwright import nn


def archive(data: bytes, **storages: bytes) -> io.BytesIO:
    """A file with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", data)
        for key, memory in storages.items():
            made.writestr(f"archive/data/{key}", memory)
    file.seek(0)
    return file


class Evil:
    def __init__(self, *what: Any) -> None:
        self.what = what

    def __reduce__(self) -> Any:
        return self.what


ATTACKS: dict[str, bytes] = {
    "system": pickle.dumps(Evil(os.system, ("touch /tmp/should-not-exist",)), 2),
    "system in protocol 4": pickle.dumps(Evil(os.system, ("true",)), 4),
    "eval": pickle.dumps(Evil(eval, ("1",)), 2),
    "getattr": pickle.dumps([Evil(getattr, ("a", "join"))], 2),
    "a name below one that is allowed": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2.__globals__\n.",
    "our own functions": b"\x80\x02cgradwright.serialization\nload\n.",
    "our own functions by their old name": b"\x80\x02cruntime.serialization\nload\n.",
    "the library's functions": b"\x80\x02ctorch\nload\n.",
    "a call of no function": b"\x80\x02]K\x01\x85R.",
    "a call of a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "a state for a class": b"\x80\x02ctorch\nSize\n}X\x01\x00\x00\x00aK\x01sb.",
    "a state for a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb.",
    "a new object of a class": b"\x80\x02cbuiltins\nset\n)\x81.",
    "an instance of old style": b"(ios\nsystem\n.",
    "a registered extension": b"\x80\x02\x82\x01.",
    "values put into no list": b"\x80\x02}K\x01a.",
    "items put into no table": b"\x80\x02]K\x01K\x02s.",
    "nothing on the stack": b"\x80\x02.",
    "no end": b"\x80\x02]",
    "no mark": b"\x80\x02t.",
    "an unknown place of the memo": b"\x80\x02h\x05.",
    "an id that is no storage": b"\x80\x02K\x01Q.",
    "no pickle": b"garbage",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_files_can_run_nothing(name: str) -> None:
    with pytest.raises(pickle.UnpicklingError):
        torch.load(archive(ATTACKS[name]))


def test_what_is_refused_is_named() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL posix\.system .*add_safe_globals\(\[system\]\)"):
        torch.load(archive(ATTACKS["system"]))
    assert torch.serialization.get_unsafe_globals_in_checkpoint(archive(ATTACKS["eval"])) == ["__builtin__.eval"]
    assert not os.path.exists("/tmp/should-not-exist")


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (3, (2,), (1,)),
        (-1, (1,), (1,)),
        (0, (2, 2), (4, 1)),
        (3, (4,), (-1,)),
        (0, (2,), (1, 1)),
        (0, (-1,), (1,)),
    ],
)
def test_tensors_lie_inside_of_their_storages(offset: int, size: Any, stride: Any) -> None:
    file = io.BytesIO()
    torch.save(torch.arange(4.0), file)
    data = zipfile.ZipFile(file).read("archive/data.pkl")
    # The numbers as they are written: offset 0, size (4,), stride (1,).
    old = data[data.index(b"QK\x00") + 1 :][: data[data.index(b"QK\x00") + 1 :].index(b"\x89")]
    new = pickle.dumps((offset, size, stride), 2)[2:-1]
    parts = b"".join(pickle.dumps(part, 2)[2:-1] for part in (offset, size, stride))
    assert new
    # Places of the memo that are written twice do no harm: nothing before them is asked for later.
    broken = data.replace(old, parts)
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(archive(broken, **{"0": struct.pack("<4f", 0, 1, 2, 3)}))


def test_storages_are_where_programs_look_for_them() -> None:
    assert torch.storage.UntypedStorage is torch.UntypedStorage
    assert type(torch.ones(2).untyped_storage()) is torch.UntypedStorage


def test_a_storage_that_is_too_short_is_refused() -> None:
    file = io.BytesIO()
    torch.save(torch.arange(4.0), file)
    data = zipfile.ZipFile(file).read("archive/data.pkl")
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
        torch.load(archive(data, **{"0": bytes(8)}))
    with pytest.raises(RuntimeError, match="failed reading the archive"):
        torch.load(archive(data))


def test_a_damaged_archive_is_said_to_be_one() -> None:
    file = io.BytesIO()
    torch.save(torch.arange(1000.0), file)
    whole = bytearray(file.getvalue())
    whole[-2000] ^= 255
    with pytest.raises(RuntimeError, match="failed reading the archive"):
        torch.load(io.BytesIO(bytes(whole)))
    with pytest.raises(RuntimeError, match=r"before 1\.6"):
        torch.load(io.BytesIO(pickle.dumps({})))


def test_numbers_of_the_other_byte_order_are_turned() -> None:
    file = io.BytesIO()
    torch.save([torch.tensor([1.5, -2.0]), torch.tensor([1 + 2j])], file)
    old, turned = zipfile.ZipFile(file), io.BytesIO()
    with zipfile.ZipFile(turned, "w") as made:
        for name in old.namelist():
            data = old.read(name)
            if "/data/" in name:
                data = np.frombuffer(data, "<f4").astype(">f4").tobytes()
            made.writestr(name, b"big" if name.endswith("byteorder") else data)
    turned.seek(0)
    found = torch.load(turned)
    assert found[0].tolist() == [1.5, -2.0]
    assert found[1].tolist() == [1 + 2j]


def test_only_what_a_view_shares_is_kept_together() -> None:
    x = torch.arange(8.0)
    file = io.BytesIO()
    torch.save([x, x[2:4], x.clone()], file)
    file.seek(0)
    whole, part, other = torch.load(file)
    whole[2] = 9
    assert part[0] == 9
    assert other[2] == 2
    assert part.untyped_storage() == whole.untyped_storage() != other.untyped_storage()


def test_what_lies_between_other_things_is_saved_by_its_values() -> None:
    x = torch.from_numpy(np.array([(3.0, 1), (2.0, 1)], [("a", "f8"), ("b", "i1")])["a"])
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert torch.load(file).tolist() == [3, 2]


def _generator() -> Any:
    made = torch.Generator().manual_seed(5)
    torch.rand(3, generator=made)
    return made


def _optimizer() -> Any:
    model = nn.Linear(2, 2)
    made = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    made.step()
    return made


PUBLIC: dict[str, Callable[[], Any]] = {
    "Tensor": lambda: torch.arange(6.0).reshape(2, 3).T,
    "leaf": lambda: torch.ones(2, requires_grad=True),
    "bfloat16": lambda: torch.ones(2, dtype=torch.bfloat16),
    "Parameter": lambda: nn.Parameter(torch.ones(2)),
    "Buffer": lambda: nn.Buffer(torch.ones(2)),
    "meta": lambda: torch.ones(2, device="meta"),
    "Size": lambda: torch.Size([2, 3]),
    "dtype": lambda: torch.bfloat16,
    "device": lambda: torch.device("cpu"),
    "layout": lambda: torch.strided,
    "memory format": lambda: torch.channels_last,
    "finfo": lambda: torch.finfo(torch.float32),
    "iinfo": lambda: torch.iinfo(torch.int16),
    "Generator": _generator,
    "storage": lambda: torch.arange(3.0).untyped_storage(),
    "Module": lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU()),
    "recurrent": lambda: nn.LSTM(2, 3),
    "attention": lambda: nn.TransformerEncoderLayer(4, 2),
    "optimizer": _optimizer,
    "schedule": lambda: torch.optim.lr_scheduler.StepLR(_optimizer(), 3),
    "operator": lambda: torch.add,
    "function": lambda: torch.nn.functional.relu,
    "distribution": lambda: torch.distributions.Normal(torch.zeros(2), torch.ones(2)),
    "transform": lambda: torch.distributions.SigmoidTransform(),
    "constraint": lambda: torch.distributions.constraints.simplex,
    "dataset": lambda: torch.utils.data.TensorDataset(torch.arange(3)),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_pickled_and_copied(name: str) -> None:
    value = PUBLIC[name]()
    ways: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy]
    ways += [lambda one, p=p: pickle.loads(pickle.dumps(one, p)) for p in (2, 4)]  # type: ignore[misc]
    ways.append(_through_a_file)
    for way in ways:
        again = way(value)
        assert type(again) is type(value)
        assert _text(again) == _text(value)


def _through_a_file(value: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def _text(value: Any) -> str:
    if isinstance(value, torch.Generator):
        return str(value.get_state().tolist())
    if isinstance(value, nn.Module):
        return str({name: one.tolist() for name, one in value.state_dict().items()})
    if isinstance(value, torch.optim.Optimizer):
        return str(value.state_dict())
    if hasattr(value, "state_dict"):
        return str(value.state_dict())
    if hasattr(value, "tensors"):
        return str(value.tensors)
    return repr(value)
