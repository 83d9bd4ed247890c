"""docs/reports/pytorch.md is what `python -m tools.surface` writes, and what it is made from says nothing in vain."""

from __future__ import annotations

import importlib.util
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

from tools import surface


def test_the_page_is_current() -> None:
    stale = "docs/reports/pytorch.md is stale: run python -m tools.surface"
    assert surface.PAGE.read_text(encoding="utf-8") == surface.page(), stale


def test_readme_says_what_the_command_prints() -> None:
    readme = (surface.PAGE.parents[2] / "README.md").read_text(encoding="utf-8")
    assert surface.sentence(surface.PAGE.read_text(encoding="utf-8")) in " ".join(readme.split())


def test_each_pattern_is_of_a_name() -> None:
    known = surface.reasons()
    names = {name.name: name for module in surface.MODULES for name in surface.names_of(module, known)}
    status = {"differs": ("differs",), "missing": ("no",)}
    idle = [
        f"{kind}: {pattern}"
        for kind, patterns in known.items()
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) and found.status in status[kind] for name, found in names.items())
    ]
    assert not idle, "\n".join(idle)


def test_modules_of_modules_are_seen() -> None:
    """A name that is a module in one place and a function in the other is not there."""
    assert not surface._is_alike(len, surface)
    assert not surface._is_alike(len, 1)
    assert surface._is_alike(1, 2)


def test_modules_that_pytorch_has_not_are_not_under_its_name() -> None:
    import torch

    from gradwright import as_torch, names

    folder = Path(names.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    modules -= {"__init__", "__main__"}
    assert len(modules) > 40
    extra = {name for name in modules if not _has_module(torch, name)}
    assert extra == as_torch._OWN & modules


def _has_module(package: ModuleType, name: str) -> bool:
    return hasattr(package, name) or importlib.util.find_spec(f"{package.__name__}.{name}") is not None
