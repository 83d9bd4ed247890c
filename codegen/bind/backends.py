"""Backends of packages: the operators and the kernels that their files name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codegen.codes import Code
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.paths import PythonPart
from codegen.python_source import FunctionIndex, Parameter, PythonFunction, SourcePart
from codegen.read.backends import BackendFile, Supported
from codegen.read.model import NativeFunction
from codegen.source import Diagnostics
from codegen.words import CUDA, Hint, did_you_mean

# What a module of arrays has to define.
NAMES_OF_ARRAYS = ("Array", "namespace", "from_numpy", "to_numpy")
_GENERIC = "xp"  # the first parameter of kernels over the array API


@dataclass(frozen=True, slots=True)
class Backend:
    """A dispatch key with its device, its module of arrays, and its kernels by the names of operators.

    `generic` are those over the array API standard, which take the namespace of the arrays first. `elementwise` is the
    module that launches kernels that are printed in CUDA, which are among `kernels`; `beneath` are the generic ones of
    the same operators. `notices` say what of the file means nothing here.
    """

    key: str
    device: str
    arrays: str
    file: str
    kernels: Mapping[str, PythonFunction]
    generic: Mapping[str, PythonFunction]
    elementwise: str | None = None
    beneath: Mapping[str, PythonFunction] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def supported(self) -> frozenset[str]:
        """The names of all operators that have a kernel."""
        return frozenset((*self.kernels, *self.generic))


def bind_backend(
    read: BackendFile,
    shown: str,
    arrays: PythonPart,
    own: PythonPart | None,
    generic: FunctionIndex,
    functions: Sequence[NativeFunction],
    diagnostics: Diagnostics,
    launcher: PythonPart | None = None,
    package: str = "",
) -> Backend:
    """The backend that a file describes.

    Args:
        read: what the file says.
        shown: how messages name it.
        arrays: where its arrays are.
        own: where its own kernels are.
        generic: the kernels over the array API.
        functions: the operators that may have kernels.
        launcher: where the module is that launches kernels in CUDA.
        package: the generated one, which these will lie in.
    """
    _check_arrays(read, arrays, diagnostics)
    index = FunctionIndex(() if own is None else (SourcePart(own, diagnostics),))
    if own is not None and not own.path.exists():
        assert read.kernels is not None
        _no_module(read.kernels.value, own, read, diagnostics)
    by_name = {str(function.name): function for function in functions if _may_have_kernels(function)}
    binding = _Binding(read, index, generic, {str(each.name): each for each in functions}, by_name, diagnostics)
    chosen = dict(binding.listed())
    whole = {} if read.array_api is None else dict(_whole(generic, by_name.values()))
    own_kernels = {name: function for name, (function, is_own) in chosen.items() if is_own}
    shared = {name: function for name, (function, is_own) in chosen.items() if not is_own}
    generics = {name: function for name, function in {**whole, **shared}.items() if name not in own_kernels}
    printed: dict[str, PythonFunction] = {}
    if launcher is not None:
        assert read.elementwise is not None
        if not launcher.path.exists():
            _no_module(read.elementwise.value, launcher, read, diagnostics)
        printed = {
            str(each.name): _in_cuda(each, package)
            for each in by_name.values()
            if each.elementwise is not None and str(each.name) not in own_kernels
        }
    beneath = {name: function for name, function in generics.items() if name in printed}
    notices = []
    if read.meaningless:
        notices.append(f"{shown}: without a meaning here: {', '.join(read.meaningless)}")
    for what, names in binding.left_out.items():
        notices.append(f"{shown}: left out, because {what} ({len(names)}): {', '.join(names)}")
    return Backend(
        read.key,
        read.device,
        arrays.module,
        shown,
        {**own_kernels, **printed},
        {name: function for name, function in generics.items() if name not in printed},
        None if launcher is None else launcher.module,
        beneath,
        tuple(notices),
    )


def _in_cuda(function: NativeFunction, package: str) -> PythonFunction:
    """The function that the target of CUDA writes for an operator that is an expression over elements."""
    assert function.elementwise is not None
    parameters = tuple(Parameter(each, "", False, keyword_only=False) for each in function.kernel_parameters)
    return PythonFunction(
        function.name.function_name, f"{package}.{CUDA}.kernels", parameters, "", function.text.span()
    )


def _may_have_kernels(function: NativeFunction) -> bool:
    """Whether calls of an operator reach a kernel: those that are traced through do not."""
    return function.elementwise is not None or any(line.key not in COMPOSITE_KEYS for line in function.dispatch)


def _whole(generic: FunctionIndex, functions: Iterable[NativeFunction]) -> Iterator[tuple[str, PythonFunction]]:
    """All kernels over the array API, by their operators."""
    for function in functions:
        kernel = _of_name(generic, function)
        if kernel is not None and _misfit(kernel, function, True) is None:
            yield str(function.name), kernel


def _of_name(index: FunctionIndex, function: NativeFunction) -> PythonFunction | None:
    """The kernel of an operator's own name: `add_Tensor`, `sum_default`, or `add`, which may be of several."""
    name = function.name
    return index.get(name.function_name) or index.get(name.base)


def _misfit(kernel: PythonFunction, function: NativeFunction, generic: bool) -> tuple[str, str] | None:
    """The signature that a kernel has and the parameters that it is to have, where they differ."""
    names = [*([_GENERIC] if generic else []), *function.kernel_parameters]
    return None if kernel.fits(names, ()) else (kernel.signature, ", ".join(names))


@dataclass(frozen=True, slots=True)
class _Binding:
    read: BackendFile
    own: FunctionIndex
    generic: FunctionIndex
    all: Mapping[str, NativeFunction]
    functions: Mapping[str, NativeFunction]
    diagnostics: Diagnostics
    left_out: dict[str, list[str]] = field(default_factory=dict)  # in a lax file, by why

    def listed(self) -> Iterator[tuple[str, tuple[PythonFunction, bool]]]:
        """The kernels of the operators that are listed, and whether each is the package's own."""
        for each in self.read.supported:
            name = each.operator.value
            function = self.functions.get(name)
            if function is None:
                self._no_operator(each)
                continue
            kernel, is_own = self._kernel(each, function)
            if kernel is None:
                continue
            misfit = _misfit(kernel, function, not is_own)
            if misfit is not None:
                self.diagnostics.error(
                    Code.KERNEL_PARAMETERS,
                    (each.kernel or each.operator).span(),
                    f"'{misfit[0]}' does not fit '{function.schema}'",
                    f"its parameters are to be ({misfit[1]})",
                    ((kernel.span, f"'{kernel.name}' is defined here"),),
                )
                continue
            yield name, (kernel, is_own)

    def _leave_out(self, each: Supported, why: str) -> None:
        self.left_out.setdefault(why, []).append(each.operator.value)

    def _no_operator(self, each: Supported) -> None:
        name = each.operator.value
        known = self.all.get(name)
        if self.read.lax:
            self._leave_out(each, "there is no such operator" if known is None else "they are made of other operators")
            return
        if known is not None:
            message = f"'{name}' is made of other operators: a kernel for it would never be called"
            hint: Hint = "remove it, and list the operators that it calls"
        else:
            message = f"unknown operator '{name}'"
            overloads = [other for other in self.functions if other.partition(".")[0] == name]
            hint = f"its overloads: {', '.join(overloads)}" if overloads else did_you_mean(name, self.functions)
        self.diagnostics.error(Code.UNKNOWN_OPERATOR, each.operator.span(), message, hint)

    def _kernel(self, each: Supported, function: NativeFunction) -> tuple[PythonFunction | None, bool]:
        if each.kernel is None:
            own = _of_name(self.own, function)
            kernel = own or _of_name(self.generic, function)
            wanted = function.name.base
            place = each.operator
        else:
            own = self.own.get(each.kernel.value)
            kernel = own or self.generic.get(each.kernel.value)
            wanted, place = each.kernel.value, each.kernel
        if kernel is None and self.read.lax:
            self._leave_out(each, "they have no kernel")
        elif kernel is None:
            where = f"{self.own.folder} or {self.generic.folder}" if self.own.folder else self.generic.folder
            names = (candidate.name for index in (self.own, self.generic) for candidate in index)
            self.diagnostics.error(
                Code.NO_FUNCTION,
                place.span(),
                f"no function '{wanted}' in {where}",
                did_you_mean(wanted, names),
            )
        return kernel, own is not None


def _check_arrays(read: BackendFile, arrays: PythonPart, diagnostics: Diagnostics) -> None:
    """The module of arrays is there, and defines what arrays need."""
    if not arrays.path.exists():
        _no_module(read.arrays.value, arrays, read, diagnostics)
        return
    defined = {name for path, _, _ in arrays.files() for name in _defined(path.read_text(encoding="utf-8-sig"))}
    missing = [name for name in NAMES_OF_ARRAYS if name not in defined]
    if missing:
        diagnostics.error(
            Code.NO_FUNCTION,
            read.arrays.span(),
            f"{arrays.shown} does not define {', '.join(missing)}",
            "a module of arrays has the type 'Array', its functions as 'namespace', and 'from_numpy' and 'to_numpy'",
        )


def _defined(source: str) -> Iterator[str]:
    """The names that a module binds at its top."""
    import ast

    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            yield statement.name
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from (item.asname or item.name.partition(".")[0] for item in statement.names)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _no_module(name: str, part: PythonPart, read: BackendFile, diagnostics: Diagnostics) -> None:
    named = (read.arrays, read.elementwise, read.kernels)
    place = next((each for each in named if each is not None and each.value == name), read.arrays)
    diagnostics.error(Code.NO_FUNCTION, place.span(), f"no module '{name}': there is no {part.shown}", "write it")
