"""What there is of PyTorch's public names: `python -m tools.surface` writes docs/reports/pytorch.md.

The names are those of the PyTorch that is installed; whether one is there is seen by looking. How it differs, and why
one is not there, is said by `surface.yaml`, by name or by pattern.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import yaml

import gradwright

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reports" / "pytorch.md"
REASONS = Path(__file__).with_name("surface.yaml")
MODULES = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim",
    "torch.autograd", "torch.func", "torch.linalg", "torch.fft", "torch.special", "torch.distributions",
    "torch.utils.data", "torch.utils.checkpoint", "torch.fx", "torch.sparse",
    "torch.nn.grad", "torch.return_types",
)  # fmt: skip
NOT_WRITTEN = "not written"


@dataclass(frozen=True)
class Name:
    """A public name: whether it is there ("yes", "differs", "no"), and how or why not."""

    name: str
    status: str
    reason: str = ""


def public_names(module: str) -> Iterator[tuple[str, Any]]:
    """The public names of a module of PyTorch, and what they stand for."""
    place = _at(torch, module)
    listed = None if module == "torch.Tensor" else getattr(place, "__all__", None)
    for name in sorted(set(listed or dir(place))):
        if not name.startswith("_") and hasattr(place, name):
            value = getattr(place, name)
            if value is torch.Tensor and module != "torch":
                continue  # imported for annotations
            if listed is not None or module == "torch.Tensor" or _is_own(value):
                yield name, value


def _is_own(value: Any) -> bool:
    """Whether a name without a list of public ones is PyTorch's, and none that it imports."""
    if isinstance(value, ModuleType) or not (callable(value) or inspect.isclass(value)):
        return False
    home = str(getattr(value, "__module__", None) or "torch")
    return home.startswith("torch") and home not in ("torch.overrides", "torch._jit_internal")


def _at(root: Any, module: str) -> Any:
    """The module or class of this name below `torch`, in PyTorch or here; None where there is none."""
    if root is torch and module != "torch.Tensor":
        return importlib.import_module(module)
    for part in module.split(".")[1:]:
        root = getattr(root, part, None)
    return root


def names_of(module: str, reasons: Mapping[str, Mapping[str, str]]) -> list[Name]:
    """All public names of a module with what is to be said of them."""
    ours, found = _at(gradwright, module), []
    for name, value in public_names(module):
        full = f"{module}.{name}"
        missing = object()
        mine = getattr(ours, name, missing) if ours is not None else missing
        if mine is missing or not _is_alike(value, mine):
            found.append(Name(full, "no", _reason(full, reasons["missing"]) or NOT_WRITTEN))
        elif how := _reason(full, reasons["differs"]):
            found.append(Name(full, "differs", how))
        else:
            found.append(Name(full, "yes"))
    return found


def _is_alike(theirs: Any, mine: Any) -> bool:
    """Whether two values can stand for each other: both are modules, or both can be called, or neither."""
    if isinstance(theirs, ModuleType) or isinstance(mine, ModuleType):
        return isinstance(theirs, ModuleType) and isinstance(mine, ModuleType)
    return callable(mine) or not callable(theirs)


def _reason(full: str, patterns: Mapping[str, str]) -> str:
    return next((reason for pattern, reason in patterns.items() if fnmatchcase(full, pattern)), "")


def reasons() -> Mapping[str, Mapping[str, str]]:
    """How names differ and why they are not there, by pattern."""
    read: Mapping[str, Mapping[str, list[str]]] = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
    return {
        status: {pattern: reason for reason, patterns in groups.items() for pattern in patterns}
        for status, groups in read.items()
    }


def page() -> str:
    """The text of docs/reports/pytorch.md."""
    known = reasons()
    lists = {module: names_of(module, known) for module in MODULES}
    everything = [name for names in lists.values() for name in names]
    lines = [
        "# What there is of PyTorch",
        "",
        "Made by `python -m tools.surface`; do not edit. Of each public name of PyTorch "
        f"{torch.__version__.partition('+')[0]} in these modules it says whether Gradwright has it. What is there "
        'behaves as PyTorch\'s does on the CPU, but for what is said under "differs" and in '
        "[deviations.md](../deviations.md). `gradwright.install_as_torch()` and `python -m gradwright run script.py` "
        "let programs that `import torch` run on these names.",
        "",
        "Of its other modules `torch.utils.benchmark` is not there: `timeit` and `python -m bench` measure.",
        "Pipes of data (`torch.utils.data.datapipes`) are not there either: a loader takes any `IterableDataset`.",
        "`torch.utils.tensorboard` is the package tensorboardX with PyTorch's signatures (extra `tensorboard`). "
        "What that package does otherwise: there is no `add_tensor`; `new_style`, `double_precision` and "
        "`hparam_domain_discrete` change nothing; `add_scalars` writes to the folders `main_tag/tag`; `add_audio` "
        "needs soundfile and `add_video` moviepy; `flush` does not wait for what is still queued, `close` does; "
        "`add_graph` writes no account of the run; tags of embeddings have no backslash; and a writer that is closed "
        "writes to its first folder again.",
        "",
        "| module | names | yes | differs | no |",
        "|---|---|---|---|---|",
        *(_row(f"[{module}](#{module.lower().replace('.', '')})", names) for module, names in lists.items()),
        _row("all", everything),
    ]
    for module, names in lists.items():
        lines += ["", f"## {module}"]
        lines += _table("differs", "how", names)
        lines += _table("no", "why", names)
        there = [_short(name) for name in names if name.status == "yes"]
        if there:
            lines += ["", "Yes: " + ", ".join(there) + "."]
    return "\n".join(lines) + "\n"


def _row(title: str, names: list[Name]) -> str:
    counts = [sum(name.status == status for name in names) for status in ("yes", "differs", "no")]
    return f"| {title} | {len(names)} | {' | '.join(map(str, counts))} |"


def _table(status: str, title: str, names: list[Name]) -> list[str]:
    """The names of a status, those with one reason in one row."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if name.status == status:
            by_reason.setdefault(name.reason, []).append(_short(name))
    rows = [f"| {', '.join(group)} | {reason} |" for reason, group in by_reason.items()]
    return ["", f"| {status} | {title} |", "|---|---|", *rows] if rows else []


def _short(name: Name) -> str:
    return f"`{name.name.rpartition('.')[2]}`"


def sentence(text: str) -> str:
    """What README.md says of a page."""
    names, there, differ, _ = re.findall(r"\d+", text.partition("| all |")[2].partition("\n")[0])
    return (
        f"Of {int(names):,} public names of PyTorch in its main modules {int(there):,} are there as in PyTorch, and "
        f"{differ} differ in what [docs/reports/pytorch.md](docs/reports/pytorch.md) says."
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(sentence(page()))
