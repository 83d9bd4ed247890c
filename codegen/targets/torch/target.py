"""The target of PyTorch: a package whose operators are those of `torch.library`, with the derivatives of the YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codegen.codes import Code
from codegen.paths import Paths
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.schema.names import python
from codegen.schema.types import SchemaKind
from codegen.source import Diagnostics
from codegen.targets.environment import environment
from codegen.targets.rules.library import File, Item, Writers
from codegen.targets.rules.sources import read_sources
from codegen.targets.rules.target import in_order
from codegen.targets.rules.values import NotPortable
from codegen.targets.rules.wrapping import wrapped
from codegen.targets.target import TargetError
from codegen.targets.torch.library import MODULES, Library
from codegen.targets.torch.operators import Section, section_of
from codegen.targets.torch.translation import write_definition, write_function

name = "torch"


def _unwritten(library: object, item: Item, operator: OperatorPlan) -> None:
    raise NotPortable(f"'{operator.name}' is no function of Python")


_WRITERS = Writers(write_function, write_definition, _unwritten)


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The modules of the package: path below the output folder, and text."""
    library, sections = _sections(plan, paths, plan.operators)
    env = environment(paths.templates, name)
    package = paths.native_functions.parent.name
    items = list(library.reached(section.item for section in sections))
    public = dict(_public_names(library))
    packets = {each: source for each, source in public.items() if source.startswith("torch.")}
    yield (
        "__init__.py",
        env.get_template("init.py.j2").render(
            package=package,
            names=sorted(public),
            packets=packets,
            functions={each: public[each] for each in sorted(public.keys() - packets.keys())},
        ),
    )
    yield "_support.py", env.get_template("support.py.j2").render()
    for file, about in _FILES.items():
        functions = in_order([item for item in items if item.file is file])
        text = "\n".join(item.text for item in functions)
        if file is File.HELPERS:
            functions = [*functions]
        yield (
            f"{MODULES[file]}.py",
            env.get_template("functions.py.j2").render(
                about=about,
                text=_joined(functions),
                lines=_lines(functions, text),
                support=_support(functions, text),
                modules=[each for each in _modules(text) if each != MODULES[file]],
            ),
        )
    every = [section.item for section in sections]
    text = "\n".join(section.text for section in sections)
    uses = {*_words(text), "register", "Operator", "define", "library_of"}
    yield (
        "operators.py",
        env.get_template("operators.py.j2").render(
            package=package,
            namespace=plan.namespace,
            sections=sections,
            lines=_without_torch(_lines(every, text)),
            support=sorted((uses & _SUPPORT) - {"in_float32"}, key=_by_kind),
            modules=_modules(text),
            uses=uses,
        ),
    )
    yield "py.typed", ""


_FILES = {
    File.OPERATORS: "Functions on arrays, as the package has them.",
    File.HELPERS: "Functions on Tensors, as the package has them, over PyTorch's operators.",
}
_NAMES = {  # where names come from that annotations and calls have
    "Any": "from typing import Any", "Sequence": "from collections.abc import Sequence", "torch": "import torch",
    "Tensor": "from torch import Tensor",
}  # fmt: skip


def _words(text: str) -> set[str]:
    """The names in code that are no attributes, without those in comments."""
    lines = (line for line in text.split("\n") if not line.lstrip().startswith("#"))
    return {word for line in lines for word in re.findall(r"(?<![\w.])\w+", line)}


def _lines(items: Sequence[Item], text: str) -> list[str]:
    """The imports of what functions need: Python's first, then NumPy's and PyTorch's."""
    found = {line for item in items for line in item.imports if " " in line}
    found |= {line for word, line in _NAMES.items() if word in _words(text)}
    python_s = sorted(line for line in found if not re.match(r"(import|from) (numpy|torch)\b", line))
    others = sorted(found - {*python_s}, key=lambda line: (line.split()[1], line.startswith("from")))
    return [*python_s, *([""] if python_s and others else []), *others]


def _without_torch(lines: Sequence[str]) -> list[str]:
    """The lines but for those of PyTorch, which the module has in any case."""
    left = [line for line in lines if "torch" not in line]
    return left[:-1] if left[-1:] == [""] else left


def _support(items: Sequence[Item], text: str) -> list[str]:
    return sorted((_words(text) & _SUPPORT) - {item.name for item in items}, key=_by_kind)


_SUPPORT = frozenset((
    "FLOATS", "GENERAL", "Info", "Kernel", "NUMBERS", "Number", "Operator", "PLAIN", "RECORDED", "applied", "apply_of",
    "are_of", "array_of", "as_tuple", "batch_loop", "batch_pointwise", "before", "below_autograd", "check_dtypes",
    "define", "device_of", "fitted_tangent", "forward_is_active", "holds_anywhere", "in_float32", "info_of",
    "is_complex", "library_of", "no_tangents", "options_of", "outer_tangents", "real_unless", "reals_unless",
    "register", "run", "tangent_of", "tensor_of", "values_of", "way_of", "write", "write_out", "zeros",
))  # fmt: skip
"""What the module that all packages have gives the others."""


def _joined(items: Sequence[Item]) -> str:
    """Functions, classes and constants below each other."""
    pieces = []
    before = ""
    for item in items:
        is_short = not item.text.startswith(("def ", "class ", "@"))
        pieces += ["\n" if is_short and before in ("short", "") else "\n\n", wrapped(item.text), "\n"]
        before = "short" if is_short else "long"
    return "".join(pieces)


def _by_kind(name: str) -> tuple[bool, bool, str]:
    """Constants before classes before functions, as imports are sorted."""
    return not name.isupper(), not name[0].isupper(), name


def _modules(text: str) -> list[str]:
    """The modules of the package that a text names."""
    return [module for module in sorted(MODULES.values()) if re.search(rf"\b{module}\.", text)]


def _public_names(library: Library) -> Iterator[tuple[str, str]]:
    """What users find in the package, and what it is: a function, or all overloads of a name."""
    namespace = library.plan.namespace
    for base, operators in library.own_by_base.items():
        several = len(operators) > 1
        if not several and operators[0].schema.kind is SchemaKind.INPLACE:
            yield base, base
            continue
        yield python(base), f"torch.ops.{namespace}.{base}" if several else library.own_name(operators[0])
        inplace = next((each.python.inplace for each in operators if each.python.inplace is not None), None)
        if inplace is not None:
            yield inplace.base, f"torch.ops.{namespace}.{inplace.base}" if several else inplace.base


def _sections(plan: Plan, paths: Paths, operators: Sequence[OperatorPlan]) -> tuple[Library, Sequence[Section]]:
    """The sections of operators.

    Raises:
        TargetError: some can not be written.
    """
    library = Library(plan, read_sources(paths), _WRITERS)
    diagnostics = Diagnostics()
    sections = []
    for operator in operators:
        try:
            sections.append(section_of(operator, library))
        except NotPortable as error:
            place = error.place or operator.source.text.span()
            message = f"'{operator.name}' can not be written for PyTorch: {error.reason}"
            inner = error.__cause__.place if isinstance(error.__cause__, NotPortable) else None
            notes = () if inner is None or inner == place else ((inner, "here"),)
            diagnostics.error(Code.NOT_PORTABLE, place, message, notes=notes)
    if diagnostics:
        raise TargetError(diagnostics)
    return library, sections


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The code of one operator."""
    _, (section,) = _sections(plan, paths, [operator])
    return section.text
