"""No module of the generator, of the runtime's core, of its batching rules or of the native core decides by the name of
an operator.

What is special about an operator stands in native_functions.yaml, where an author of operators finds it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from codegen.read.files import read_native_functions
from codegen.source import Diagnostics, SourceFile
from support.documents import ROOT

CORE = (
    "codegen",
    "runtime/base",
    "runtime/call",
    "runtime/operators/batching",
    "runtime/graph",
    "runtime/load",
    "gradwright/func",
)

# Words that only look like names of operators: by the module, and the function, class or table in it that has them, and
# what they are there.
EXCEPTIONS = {
    "codegen/commands/main.py: COMMANDS": "a command",
    "codegen/bind/rule_source.py: _OF_NUMPY": "functions of NumPy",
    "codegen/bind/update_rules.py: FUNCTIONS": "functions of NumPy",
    "codegen/bind/value_calls.py: _NUMBER_FUNCTIONS": "functions of C on numbers",
    "codegen/bind/value_calls.py: value_method": "a method of lists in C++",
    "codegen/derive/numbers.py: _INTRINSICS": "intrinsics of formulas",
    "codegen/formula/intrinsics.py: MADE_INTRINSICS": "intrinsics of formulas",
    "codegen/formula/intrinsics.py: SCALAR_INTRINSICS": "intrinsics of formulas",
    "codegen/formula/literals.py: _ESCAPED": "escapes of strings",
    "codegen/plan/names.py: WORDS": "functions of Python that generated code calls",
    "codegen/read/keys.py: KEYS": "keys of the YAML",
    "codegen/read/own_keys.py: OwnKeys": "keys of the YAML",
    "codegen/rules/kernel_source.py: _OF_TRUTH": "functions of NumPy",
    "codegen/rules/kernel_source.py: _REAL_OF_REAL": "functions of NumPy",
    "codegen/rules/kernel_source.py: _REAL_PARTS": "attributes of arrays",
    "codegen/rules/kernel_source.py: _REDUCING": "functions of NumPy",
    "codegen/rules/kernel_source.py: _TO_BOOL": "functions of NumPy",
    "codegen/rules/kernel_source.py: _TO_FLOAT": "functions of NumPy",
    "codegen/rules/kernel_source.py: _TO_INTEGER": "functions of NumPy",
    "codegen/rules/kernel_source.py: _TO_REAL": "functions of NumPy",
    "codegen/rules/kernel_source.py: _VIEWS": "attributes of arrays",
    "codegen/rules/kernel_source.py: _WRITING_FUNCTIONS": "functions of NumPy",
    "codegen/rules/kernel_source.py: _WRITING_METHODS": "methods of arrays",
    "codegen/rules/kernel_source.py: _elements": "an argument of functions of NumPy",
    "codegen/rules/kernel_source.py: _is_real": "functions of Python and NumPy",
    "codegen/rules/linear/formulas.py: Linearity": "intrinsics of formulas",
    "codegen/rules/linear/holomorphy.py: Holomorphy": "intrinsics of formulas",
    "codegen/rules/linear/python_calls.py: Calls": "functions of Python",
    "codegen/rules/linear/python_calls.py: _CONSTANT_FUNCTIONS": "functions of Python",
    "codegen/rules/linear/python_calls.py: _CONTAINERS": "functions of Python",
    "codegen/rules/linear/python_calls.py: _CONTAINER_METHODS": "methods of Python's containers",
    "codegen/rules/linear/python_calls.py: _GROWING_METHODS": "methods of Python's containers",
    "codegen/rules/linearity.py: _check_linear": "a word of a message",
    "codegen/rules/lint.py: _FRACTIONS": "kinds of dtypes",
    "codegen/rules/methods.py: _NUMBERS": "types of Python",
    "codegen/rules/reach.py: _OF_PYTHON": "functions of Python",
    "codegen/schema/defaults.py: _ESCAPES": "escapes of strings",
    "codegen/schema/types.py: _AUGMENTED": "a method of Python 2",
    "codegen/signs.py: EQUALITIES": "methods of Python",
    "codegen/signs.py: SIGNS": "methods of Python and slots of CPython",
    "codegen/targets/cpp/entries.py: _SEVERAL": "a kind of dtypes",
    "codegen/targets/cpp/intrinsics.py: CALLED": "intrinsics of formulas",
    "codegen/targets/cpp/intrinsics.py: OWNED": "intrinsics of formulas",
    "codegen/targets/cpp/optimizers.py: _OF_NUMPY": "functions of NumPy",
    "codegen/targets/docs/notation.py: INTRINSICS": "intrinsics of formulas",
    "codegen/targets/docs/notation.py: OPERATORS": "how mathematics writes calls",
    "codegen/targets/docs/notation.py: _SAME_NAME": "names of functions in mathematics",
    "codegen/targets/docs/notation.py: _between": "parameters",
    "codegen/targets/cuda/kernels.py: FUNCTIONS": "functions in CUDA",
    "codegen/targets/cuda/kernels.py: _OF_BOOLS": "functions in CUDA",
    "codegen/targets/cuda/kernels.py: _OF_INTEGERS": "functions in CUDA",
    "codegen/targets/cuda/kernels.py: _TESTS": "functions in CUDA",
    "codegen/targets/python/fast_path.py: _BESIDE": "a kind of dtypes",
    "codegen/targets/python/fast_path.py: _CHARACTERS": "a kind of dtypes",
    "codegen/targets/python/target.py: _registry_entry": "an argument of OperatorInfo",
    "codegen/targets/python/text.py: _INTRINSICS": "intrinsics of formulas",
    "codegen/targets/jax/special.py: FUNCTIONS": "functions of JAX for them",
    "codegen/targets/rules/library.py: Library": "the sign of arrays for it",
    "codegen/targets/rules/library.py: _ARRAY_FUNCTIONS": "functions of the array API",
    "codegen/targets/rules/library.py: RESERVED": "functions that every emitted package has",
    "codegen/targets/rules/library.py: _SIGNS": "signs of arrays of the array API",
    "codegen/targets/rules/printer.py: WORDS": "functions of Python, and those that every emitted package has",
    "codegen/targets/rules/printer.py: _IMPORTED": "functions that every emitted package has",
    "codegen/targets/rules/printer.py: _INTRINSICS": "intrinsics of formulas",
    "codegen/targets/rules/rule.py: RuleWriter": "functions that every emitted package has",
    "codegen/targets/rules/translation.py: Translator": "functions of Python, and a cast",
    "codegen/targets/rules/translation.py: _ATTRIBUTES": "attributes of Tensors",
    "codegen/targets/rules/translation.py: _MATH_INTS": "functions of Python",
    "codegen/targets/rules/translation.py: _OF_PYTHON": "methods of Python",
    "codegen/targets/torch/library.py: RESERVED": "functions of Python, and those that every emitted package has",
    "codegen/targets/torch/names.py: _NO_FUNCTIONS": "functions that PyTorch has not, or with other parameters",
    "codegen/targets/torch/printer.py: WORDS": "functions of Python, and those that every emitted package has",
    "codegen/targets/torch/printer.py: _INTRINSICS": "intrinsics of formulas",
    "codegen/targets/torch/target.py: _SUPPORT": "functions that every emitted package has",
    "codegen/words.py: COMMON_KINDS": "a kind of dtypes",
    "codegen/words.py: DTYPE_GROUPS": "a group of dtypes",
    "codegen/words.py: PROPERTIES": "properties that are proven",
    "codegen/words.py: TAGS": "a tag",
    "runtime/base/arrays.py: _PARTS": "parts of complex numbers",
    "runtime/base/arrays.py: narrowed": "parts of complex numbers",
    "runtime/base/arrays.py: widened": "parts of complex numbers",
    "runtime/base/dtypes.py: _KIND_NAMES": "a kind of dtypes",
    "runtime/base/overriding.py: CALLED": "intrinsics of formulas",
    "runtime/base/state.py: Mark": "an attribute",
    "runtime/call/facts.py: COMPUTED_KINDS": "a kind of dtypes",
    "runtime/operators/batching/rules/__init__.py: _IN_PLACE": "a batching rule",
}
# The same of the C++ of the core, by file and word.
EXCEPTIONS_IN_CPP = {
    "attributes.cpp: detach": "a method of Tensors",
    "kernels.cpp: tanh": "a value of an argument",
    "module.cpp: sum": "a key of what Python hands over",
    "sharing.cpp: view": "the mark of views",
}

# Operators that written C++ calls, by file and function, and for what: no formula prints the calls. Composites are
# those that no formula can be, as their rows in the table of kernels say.
CALLED_IN_CPP = {
    "composites.hpp: _log_softmax_default": "the composite cross_entropy_loss",
    "composites.hpp: _reshape_copy_default": "the composites reshape and contiguous",
    "composites.hpp: _unsafe_view_default": "the composite matmul",
    "composites.hpp: addmm_default": "the composite linear",
    "composites.hpp: alias_default": "subscripts",
    "composites.hpp: bmm_default": "the composite matmul",
    "composites.hpp: dot_default": "the composite matmul",
    "composites.hpp: expand_default": "the composites matmul and take_along_dim",
    "composites.hpp: gather_default": "the composite take_along_dim",
    "composites.hpp: index_Tensor": "subscripts",
    "composites.hpp: index_put__default": "subscripts that are written",
    "composites.hpp: mm_default": "the composite matmul, the helper laid_out_product",
    "composites.hpp: mul_Tensor": "the composite outer",
    "composites.hpp: mv_default": "the composite matmul",
    "composites.hpp: nll_loss_default": "the composite nll_loss_nd",
    "composites.hpp: permute_default": "the composite movedim, the attribute T",
    "composites.hpp: select_int": "subscripts",
    "composites.hpp: slice_Tensor": "subscripts, the composite narrow",
    "composites.hpp: split_Tensor": "the composite chunk",
    "composites.hpp: squeeze_dim": "the composite matmul",
    "composites.hpp: t_default": "the composite linear, the helper laid_out_product",
    "composites.hpp: transpose_int": "the attribute mT",
    "composites.hpp: unsqueeze_default": "subscripts, the composites matmul and outer",
    "composites.hpp: view_default": "the composites reshape, unflatten and linear",
    "convolution.cpp: convolution_default": "the composites conv1d, conv2d and conv3d",
    "fourier.cpp: _conj_physical_default": "the composites of fft",
    "fourier.cpp: _fft_c2c_default": "the composites of fft",
    "fourier.cpp: _fft_c2r_default": "the composites of fft",
    "fourier.cpp: _fft_r2c_default": "the composites of fft",
    "grid.cpp: grid_sampler_2d_default": "the composite grid_sampler",
    "grid.cpp: grid_sampler_3d_default": "the composite grid_sampler",
    "helpers.hpp: expand_default": "the helper expand_reduced",
    "helpers.hpp: reshape_default": "the helper expand_reduced",
    "helpers.hpp: unsqueeze_default": "the helper expand_reduced",
}


def operator_names() -> frozenset[str]:
    path = ROOT / "native_functions.yaml"
    functions = read_native_functions(SourceFile(path.name, path.read_text(encoding="utf-8")), Diagnostics())
    names = {name for each in functions for name in (each.name, *(made for made, _ in each.autogen))}
    return frozenset(word for name in names for word in (str(name), name.base))


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


FOUND = {
    f"{path.relative_to(ROOT).as_posix()}: {where}": sorted(names)
    for folder in CORE
    for path in sorted((ROOT / folder).rglob("*.py"))
    for where, names in found_in(path).items()
}


# What calls a function of NumPy by its name is about no operator.
UFUNCS = re.compile(r"\bUfunc [^;]*;")
OPERATORS = re.compile(r"\bOperator [^;]*;")
WORDS_IN_CPP = re.compile(r'"([^"\\\n]*)"')


FUNCTIONS = {re.sub(r"\W", "_", name if "." in name else f"{name}_default") for name in NAMES}


def words_in_cpp(called: bool) -> Iterator[str]:
    """The names of operators, or of their functions, in C++: those that are called, or all other ones."""
    for folder in ("runtime/native/src", "runtime/operators/kernels"):
        for path in sorted((ROOT / folder).glob("*.[ch]pp")):
            text = UFUNCS.sub("", re.sub("//.*", "", path.read_text(encoding="utf-8")))
            parts = OPERATORS.findall(text) if called else [OPERATORS.sub("", text)]
            words = (found[1] for part in parts for found in WORDS_IN_CPP.finditer(part))
            yield from (f"{path.name}: {word}" for word in words if word in FUNCTIONS or (word in NAMES and not called))


def test_operators_are_told_by_what_their_entries_say() -> None:
    new = [(place, names) for place, names in FOUND.items() if place not in EXCEPTIONS]
    assert new == [], "say it in native_functions.yaml, by a key that docs/yaml.md describes"


def test_exceptions_are_needed() -> None:
    assert EXCEPTIONS.keys() - FOUND.keys() == set()


def test_the_core_knows_operators_only_where_it_calls_them() -> None:
    assert EXCEPTIONS_IN_CPP.keys() == set(words_in_cpp(called=False))
    assert CALLED_IN_CPP.keys() == set(words_in_cpp(called=True))
