"""What a process knows of the others that a launcher has started; that they exchange it is tested in `packages/mpi`."""

from __future__ import annotations

import importlib.util

import pytest

from codegen.ranks import Ranks, ranks, without_launcher


@pytest.fixture(autouse=True)
def nothing_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


def test_one_process() -> None:
    assert ranks() == Ranks(0, 1, 1)
    assert Ranks().share("a") == "a"
    assert Ranks().collect("a") == ["a"]


@pytest.mark.parametrize(
    "names",
    [
        ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ],
)
def test_one_of_several(monkeypatch: pytest.MonkeyPatch, names: tuple[str, str, str]) -> None:
    for name, value in zip(names, "142", strict=True):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert ranks() == Ranks(1, 4, 2)
    assert without_launcher({**dict.fromkeys(names, "1"), "PATH": "/bin"}) == {"PATH": "/bin"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install mpi4py"):
        ranks()
