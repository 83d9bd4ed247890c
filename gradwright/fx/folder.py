"""GraphModules as packages of Python: their code, and files of what it names."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gradwright.files import save
from gradwright.fx.code import PythonCode, _PyTreeCodeGen
from gradwright.fx.names import public_name
from gradwright.nn.module import Module
from runtime.base import identity

if TYPE_CHECKING:
    from gradwright.fx.graph_module import GraphModule

# The Modules of ours whose text is a call that makes them.
_BY_TEXT = ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")


def write(module: GraphModule, folder: Path, class_name: str) -> None:
    """Write a package whose class does what a GraphModule does, with its values.

    Args:
        module: the GraphModule.
        folder: of the package, which is made if there is none.
        class_name: what the class is called.

    Raises:
        RuntimeError: the code names something that cannot be imported.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = module.graph.python_code("self")
    save(module.state_dict(), folder / "state_dict.pt")
    wraps, _, code = made.src.rpartition("def forward(")
    lines = [
        f"import {identity.name}",
        "from pathlib import Path",
        f"from {identity.name}.nn import *",
        *_imports(made),
        wraps.strip(),
        "",
        "_FOLDER = Path(__file__).parent",
        "",
        "",
        f"class {class_name}({identity.name}.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        *(f"        {line}" for line in _members(module, folder)),
        "",
        *_indented(f"def forward({code}".rstrip()),
    ]
    (folder / "module.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "__init__.py").write_text("from .module import *\n", encoding="utf-8")


def _indented(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"    {line}" if line else line


def _members(module: GraphModule, folder: Path) -> Iterator[str]:
    """The lines that make what the code names in the Module."""
    load = f"{identity.name}.load"
    pickled = []
    for name, child in module._modules.items():
        if child is None:
            continue
        text = _text(child)
        if text is None:
            pickled.append(name)
            save(child, folder / f"{name}.pt")
            text = f"{load}(_FOLDER / {f'{name}.pt'!r}, weights_only=False)"
        yield f"setattr(self, {name!r}, {text})"
    if pickled:
        warnings.warn(
            f"Was not able to save the following children modules as reprs - saved as pickled files instead: {pickled}",
            UserWarning,
            stacklevel=5,
        )
    for name, buffer in module._buffers.items():
        if buffer is not None:
            kept = name not in module._non_persistent_buffers_set
            if not kept:
                save(buffer, folder / f"{name}.pt")
            values = f"{identity.name}.empty({list(buffer.shape)})" if kept else f"{load}(_FOLDER / {f'{name}.pt'!r})"
            yield f"self.register_buffer({name!r}, {values}, persistent={kept})"
    for name, parameter in module._parameters.items():
        if parameter is not None:
            values = f"{identity.name}.empty({list(parameter.shape)}, dtype={parameter.dtype})"
            yield f"setattr(self, {name!r}, {identity.name}.nn.Parameter({values}, {parameter.requires_grad}))"
    codegen = module.graph._codegen
    if isinstance(codegen, _PyTreeCodeGen):
        save((codegen.pytree_info.in_spec, codegen.pytree_info.out_spec), folder / "specs.pt")
        yield f"self._in_spec, self._out_spec = {load}(_FOLDER / 'specs.pt', weights_only=False)"
    yield f"self.load_state_dict({load}(_FOLDER / 'state_dict.pt'), assign=True)"
    if not module.training:
        yield "self.training = False"


def _text(child: Module) -> str | None:
    """The call that makes a Module but for its values; None where none does."""
    kind = type(child)
    if kind.__name__ not in _BY_TEXT or getattr(sys.modules["gradwright"].nn, kind.__name__) is not kind:
        return None
    if any(not parameter.requires_grad for parameter in child.parameters()) or _has_hooks(child):
        return None
    return f"{child!r}{'' if child.training else '.eval()'}"


def _has_hooks(child: Module) -> bool:
    return any(value for name, value in vars(child).items() if name.endswith("_hooks"))


def _imports(made: PythonCode) -> Iterator[str]:
    """The statements after which the names of the code stand for what they do."""
    for name, value in made.globals.items():
        if name != identity.name:
            yield _import(name, value)


def _import(name: str, value: Any) -> str:
    if value is type(None):
        return f"{name} = type(None)"
    if isinstance(value, float):
        return f"from math import {name}"
    if isinstance(value, ModuleType):
        return f"import {_public(value.__name__)} as {name}"
    if (known := public_name(value)) is not None:
        return f"{name} = {known}"
    place, path = getattr(value, "__module__", None) or "builtins", getattr(value, "__qualname__", "")
    found: Any = sys.modules.get(place)
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is not value or place == "__main__":
        raise RuntimeError(f"{name} in the code of the graph is {value!r}, which cannot be imported")
    first, _, rest = path.partition(".")
    statement = f"from {_public(place)} import {first} as {name}"
    return f"{statement}\n{name} = {name}.{rest}" if rest else statement


def _public(module: str) -> str:
    """The name by which programs import a module of ours."""
    return f"{identity.name}{module.removeprefix('gradwright')}" if module.partition(".")[0] == "gradwright" else module
