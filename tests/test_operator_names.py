"""No module of the generator, of the runtime's core or of its batching rules decides by the name of an operator.

What is special about an operator stands in native_functions.yaml, where an author of operators finds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
CORE = ("codegen", "runtime/base", "runtime/call", "runtime/func", "runtime/graph", "runtime/load")

# Words that only look like names of operators: by the function, class or table of a module that has them, and what they
# are there.
EXCEPTIONS = {
    "_AUGMENTED": "a method of Python 2",
    "_CONSTANT_FUNCTIONS": "functions of Python",
    "_CONTAINERS": "functions of Python",
    "_CONTAINER_METHODS": "methods of Python's containers",
    "_ESCAPED": "escapes of strings",
    "_ESCAPES": "escapes of strings",
    "_GROWING_METHODS": "methods of Python's containers",
    "_IN_PLACE": "a batching rule",
    "_INTRINSICS": "intrinsics of formulas",
    "_KIND_NAMES": "a kind of dtypes",
    "_NUMBER_FUNCTIONS": "functions of C on numbers",
    "_OF_NUMPY": "functions of NumPy",
    "_OF_PYTHON": "functions of Python",
    "_check_linear": "a word of a message",
    "_registry_entry": "an argument of OperatorInfo",
    "_CHARACTERS": "a kind of dtypes",
    "_BESIDE": "a kind of dtypes",
    "_SEVERAL": "a kind of dtypes",
    "CALLED": "intrinsics of formulas",
    "Calls": "functions of Python",
    "DTYPE_GROUPS": "a group of dtypes",
    "COMMON_KINDS": "a kind of dtypes",
    "COMPUTED_KINDS": "a kind of dtypes",
    "EQUALITIES": "methods of Python",
    "Holomorphy": "intrinsics of formulas",
    "KEYS": "keys of the YAML",
    "Linearity": "intrinsics of formulas",
    "MADE_INTRINSICS": "intrinsics of formulas",
    "Mark": "an attribute",
    "ORDER": "keys of the YAML",
    "OWNED": "intrinsics of formulas",
    "OwnKeys": "keys of the YAML",
    "PROPERTIES": "properties that are proven",
    "SCALAR_INTRINSICS": "intrinsics of formulas",
    "TAGS": "a tag",
    "SIGNS": "methods of Python and slots of CPython",
    "WORDS": "functions of Python that generated code calls",
    "_FRACTIONS": "kinds of dtypes",
    "_OF_TRUTH": "functions of NumPy",
    "_REDUCING": "functions of NumPy",
    "_TO_BOOL": "functions of NumPy",
    "_TO_FLOAT": "functions of NumPy",
    "_TO_INTEGER": "functions of NumPy",
    "_TO_REAL": "functions of NumPy",
    "_REAL_OF_REAL": "functions of NumPy",
    "_REAL_PARTS": "attributes of arrays",
    "_is_real": "functions of Python and NumPy",
    "_WRITING_FUNCTIONS": "functions of NumPy",
    "_WRITING_METHODS": "methods of arrays",
    "_VIEWS": "attributes of arrays",
    "_elements": "an argument of functions of NumPy",
    "_main": "a command",
    "value_method": "a method of lists in C++",
}


def operator_names() -> frozenset[str]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load((ROOT / "native_functions.yaml").read_text(encoding="utf-8"), loader)
    names = {entry["func"].partition("(")[0] for entry in entries}
    names |= {name.strip() for entry in entries for name in entry.get("autogen", "").split(",")}
    return frozenset(names | {name.partition(".")[0] for name in names}) - {""}


NAMES = operator_names()


def decisions(tree: ast.AST) -> Iterator[ast.expr]:
    """What decides by a value: comparisons, patterns, sets, dicts, look-ups."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=comparators):
                yield from (left, *comparators)
            case ast.MatchValue(value=value):
                yield value
            case ast.Set(elts=elts):
                yield from elts
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() | ast.List() as value) if (
                name != "__slots__"
            ):
                yield value
            case ast.Dict(keys=keys, values=values):
                yield from (part for part in (*keys, *values) if part is not None)
            case ast.Subscript(slice=index):
                yield index
            case ast.Call(func=ast.Name(id="frozenset" | "set" | "dict"), args=args, keywords=keywords):
                yield from (*args, *(keyword.value for keyword in keywords))
            case ast.Call(func=ast.Attribute(attr="get" | "setdefault" | "startswith" | "endswith"), args=args):
                yield from args[:1]


def words(node: ast.expr) -> Iterator[ast.Constant]:
    """The strings that an expression is, or is a list of."""
    for part in ast.walk(node) if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.BinOp) else (node,):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part


def owner(tree: ast.Module, line: int) -> str:
    """The name of the function, class or table at the top of a module that a line belongs to."""
    for node in tree.body:
        if node.lineno <= line <= (node.end_lineno or 0):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    return name
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    return name
    return ""


def found_in(path: Path) -> dict[str, set[str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for node in decisions(tree):
        for word in words(node):
            if word.value in NAMES:
                found.setdefault(owner(tree, word.lineno), set()).add(str(word.value))
    return found


FOUND = [
    (path.relative_to(ROOT).as_posix(), where, sorted(names))
    for folder in CORE
    for path in sorted((ROOT / folder).rglob("*.py"))
    for where, names in found_in(path).items()
]


def test_operators_are_told_by_what_their_entries_say() -> None:
    new = [found for found in FOUND if found[1] not in EXCEPTIONS]
    assert new == [], "say it in native_functions.yaml, by a key that docs/yaml.md describes"


def test_exceptions_are_needed() -> None:
    assert EXCEPTIONS.keys() - {where for _, where, _ in FOUND} == set()
