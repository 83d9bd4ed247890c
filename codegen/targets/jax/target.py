"""The target of JAX: the operators of a package as functions of JAX, with their derivatives.

What is written imports JAX and NumPy, and nothing of Gradwright: kernels on NumPy's arrays are called through
`jax.pure_callback`, all else is `jax.numpy`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from codegen.codes import Code
from codegen.paths import Paths
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.source import Diagnostics
from codegen.targets.environment import environment
from codegen.targets.jax.functions import check_operator, names_in_module, public_names, write_body, write_functions
from codegen.targets.jax.modes import modes
from codegen.targets.jax.namespace import over_jnp
from codegen.targets.jax.special import FUNCTIONS, IMPORTS
from codegen.targets.rules.library import File, Framework, Item, Library
from codegen.targets.rules.sources import read_sources
from codegen.targets.rules.target import WRITERS, in_order
from codegen.targets.rules.values import NotPortable
from codegen.targets.rules.wrapping import wrapped
from codegen.targets.target import TargetError
from codegen.words import RULES

name = "jax"
_SHOWN = "JAX"
_ABOUT = {
    File.FUNCTIONS: "The operators as functions of JAX, with their derivatives; above each formula stands its place.",
    File.OPERATORS: "The operators that formulas call, over `jax.numpy`.",
    File.HELPERS: "Functions that formulas call, over `jax.numpy`.",
    File.KERNELS: "Functions on arrays of NumPy that compute operators.",
}
_MODULES = {
    File.FUNCTIONS: "functions", File.HELPERS: "helpers", File.KERNELS: "kernels", File.OPERATORS: "operators as ops",
}  # fmt: skip
_STANDARD = {
    "jax": "import jax", "jnp": "import jax.numpy as jnp", "Any": "from typing import Any",
    "Sequence": "from collections.abc import Sequence",
}  # fmt: skip
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")  # that is no attribute
_COMMENT = re.compile(r"^ *#.*$", re.MULTILINE)


def _arrays(paths: Paths) -> str:
    """The module of what all functions share."""
    shared = over_jnp(environment(paths.templates, RULES).get_template("shapes.py.j2").render())
    return environment(paths.templates, name).get_template("arrays.py.j2").render(shared=shared)


def _defined(module: str) -> set[str]:
    """The names that a module gives a meaning to, but for those that are its own alone."""
    found = re.findall(r"^(?:def |class )?([a-zA-Z]\w*)(?=[(:]| =)", module, re.MULTILINE)
    return {*found} - {"if", "for", "try", "from", "import"}


def _library(plan: Plan, paths: Paths) -> Library:
    """What all operators are written in."""
    sources, shared = read_sources(paths), _defined(_arrays(paths))
    names = names_in_module(public_names(plan), shared)

    def body(library: Library, item: Item, operator: OperatorPlan) -> None:
        check_operator(operator, shared)
        write_body(library, item, operator)

    scratch = Library(plan, sources, WRITERS, Framework(_SHOWN, FUNCTIONS, IMPORTS, names, body))
    chosen = modes(plan, scratch)

    def own(library: Library, item: Item, operator: OperatorPlan) -> None:
        check_operator(operator, shared)
        write_functions(library, item, operator, chosen[str(operator.name)])

    return Library(plan, sources, WRITERS, Framework(_SHOWN, FUNCTIONS, IMPORTS, names, own))


def _written(operators: Sequence[OperatorPlan], library: Library) -> Sequence[Item]:
    """The functions of operators.

    Raises:
        TargetError: JAX lacks what some of them call, with a message for each.
    """
    diagnostics = Diagnostics()
    items = []
    for operator in operators:
        try:
            item = library.own(operator)
            broken = library.is_whole(item)
            if broken is not None:
                raise broken
            for each in (item, *library.reached([item])):
                if each.file is not File.KERNELS and over_jnp(each.text) is None:
                    raise NotPortable(f"'{each.name}' passes the namespace of arrays on")
        except NotPortable as error:
            place = error.place or operator.source.text.span()
            diagnostics.error(
                Code.NOT_PORTABLE, place, f"'{operator.name}' can not be written for {_SHOWN}: {error.reason}"
            )
        else:
            items.append(item)
    if diagnostics:
        raise TargetError(diagnostics)
    return items


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The modules of the package: path below the output folder, and text."""
    env = environment(paths.templates, name)
    arrays = _arrays(paths)
    library = _library(plan, paths)
    own = _written(plan.operators, library)
    items = [*library.reached(own)]
    public = public_names(plan)
    names = names_in_module(public, _defined(arrays))
    exported = sorted((public[each], names[each]) for each in names)
    yield "__init__.py", env.get_template("init.py.j2").render(names=exported)
    yield "py.typed", ""
    yield "arrays.py", arrays
    by_file = {file: [item for item in items if item.file is file] for file in _ABOUT}
    by_file[File.FUNCTIONS] = list(own)
    for file, about in _ABOUT.items():
        if by_file[file]:
            texts = [_text(item) for item in in_order(by_file[file])]
            imports = _imports(by_file[file], texts, _defined(arrays), file)
            text = env.get_template("module.py.j2").render(
                about=about, items=texts, is_of_numpy=file is File.KERNELS, **imports
            )
            yield f"{file.value}.py", text


def _text(item: Item) -> str:
    """The text of an item as it stands in its module."""
    text = item.text if item.file is File.KERNELS else over_jnp(item.text)
    assert text is not None, "what passes the namespace on is refused"
    return wrapped(text)


def _imports(items: Sequence[Item], texts: Sequence[str], shared: set[str], file: File) -> Mapping[str, Sequence[str]]:
    """What a module imports."""
    code = "\n".join(_COMMENT.sub("", text) for text in texts)
    words = set(_WORD.findall(code)) - {item.name for item in items}
    lines = {line for item in items for line in item.imports if " " in line}
    lines |= {line for name, line in _STANDARD.items() if name in words}
    if file is File.KERNELS:
        lines |= {"import numpy as np", "from typing import Any, TypeAlias"}
        lines.discard("from typing import Any")
    foreign = {line for line in lines if line.split()[1].partition(".")[0] in ("jax", "numpy")}
    return {
        "standard": _sorted(lines - foreign),
        "others": _sorted(foreign),
        "arrays": sorted(shared & words),
        "modules": [shown for each, shown in _MODULES.items() if each is not file and f"{shown.split()[-1]}" in words],
    }


def _sorted(lines: set[str]) -> list[str]:
    """Imports of modules before those of names."""
    return sorted(lines, key=lambda line: (line.startswith("from "), line))


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The functions of one operator."""
    (item,) = _written([operator], _library(plan, paths))
    return _text(item)
