"""What a framework has, in one form: arrays, the operators of a package, and transformations of functions."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from codegen.inputs import manifest_text
from gradwright.testing import determined, operator_of
from gradwright.verify.points import Array, Point, all_tensors, tensors_in
from gradwright.verify.results import Inapplicable
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.load.operator_info import OperatorInfo

# Functions of arrays, and of lists of these.
Function = Callable[..., Sequence[Any]]
Pullback = Callable[[Sequence[Any]], Sequence[Any]]


class Framework(ABC):
    """A framework, and the operators that a target has emitted for it.

    Attributes:
        module: that has the operators.
        namespace: of the operators.

    Gradients are PyTorch's: that of a real function of complex numbers points to where it grows.
    """

    name: ClassVar[str]
    default_dtype: ClassVar[str] = "float32"  # of the results of integers

    def __init__(self, package: str) -> None:
        self.module: ModuleType = importlib.import_module(module_of(package, self.name))
        infos: Mapping[str, OperatorInfo] = importlib.import_module(f"{package}.registry").OPERATORS
        self.namespace = operator_of(next(iter(infos.values()))).namespace

    @abstractmethod
    def operator(self, name: str) -> Callable[..., Any]:
        """The operator of a whole name, such as `hypot3` or `hypot3.out`.

        Raises:
            Inapplicable: the framework has none, because it writes to its arguments.
        """

    @abstractmethod
    def array(self, values: Array) -> Any:
        """An array of the framework with these values."""

    def arrays(self, tensors: Iterable[Tensor]) -> list[Any]:
        """Arrays of the framework with the numbers of Tensors of the runtime."""
        return [self.array(numbers(each)) for each in tensors]

    @abstractmethod
    def is_array(self, value: Any) -> bool:
        """Whether a value is an array of the framework."""

    @abstractmethod
    def numpy(self, value: Any) -> Array:
        """The values of an array; those of half precision as float32."""

    @abstractmethod
    def dtype(self, name: str) -> Any:
        """The element type of a name."""

    @abstractmethod
    def dtype_name(self, value: Any) -> str:
        """The name of the element type of an array."""

    @abstractmethod
    def vjp(self, function: Function, inputs: Sequence[Any]) -> tuple[Sequence[Any], Pullback]:
        """The results at `inputs`, and what gives the gradients of `inputs`; both may be differentiated again."""

    @abstractmethod
    def jvp(self, function: Function, inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """The results at `inputs`, and their tangents."""

    @abstractmethod
    def vmap(self, function: Function, in_dims: Sequence[int | None]) -> Function:
        """The function of a batch along a dimension of each input."""

    @abstractmethod
    def compiled(self, function: Function) -> Function:
        """The function as the framework's compiler makes it."""

    def transforming(self) -> Framework:
        """The same with `vjp` as a transformation of functions, where that is another one."""
        return self


class Call:
    """A sample as a function of arrays: those of its differentiable Tensors go in, the results with gradients come out.

    Attributes:
        inputs: the arrays at the sample.
    """

    def __init__(self, framework: Framework, point: Point, operator: str | None = None) -> None:
        if point.info.random:
            raise Inapplicable("other random numbers")
        self._framework = framework
        self._point = point
        self._operator = framework.operator(operator or point.info.name)
        self._written = _written(point) if operator is None else frozenset()
        self._hermitian = {id(tensor) for tensor in point.sample.hermitian}
        self._kept = [place for place, each in enumerate(tensors_in([self.wanted()])) if each.requires_grad]
        self.inputs = framework.arrays(point.inputs)
        # Made here, where no compiler looks at it.
        varied = {id(each) for each in point.inputs}
        fixed = [each for each in all_tensors(point.sample) if id(each) not in varied]
        self._fixed = {id(each): framework.array(numbers(each)) for each in fixed}

    def wanted(self) -> Any:
        """What the runtime gives.

        Raises:
            Inapplicable: the runtime refuses the call.
        """
        try:
            out = self._point.called()
        except (RuntimeError, TypeError) as error:
            raise Inapplicable("the runtime refuses the call") from error
        return determined(self._point.info, out)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        results = self.results(inputs)
        return tuple(results[place] for place in self._kept)

    def results(self, inputs: Sequence[Any]) -> list[Any]:
        """All results that are arrays; what the operator writes is a copy."""
        args, kwargs = self.arguments(inputs)
        args = [each.clone() if place in self._written else each for place, each in enumerate(args)]
        out = determined(self._point.info, self._operator(*args, **kwargs))
        return self._flat(out)

    def arguments(self, inputs: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the call, with these arrays for the differentiable Tensors."""
        inputs_by_id = {id(old): new for old, new in zip(self._point.inputs, inputs, strict=True)}
        sample = self._point.sample

        def converted(value: Any) -> Any:
            if isinstance(value, Tensor):
                new: Any = inputs_by_id.get(id(value), self._fixed.get(id(value)))
                return (new + new.mT.conj()) / 2 if id(value) in self._hermitian else new
            if isinstance(value, list | tuple):
                return [converted(each) for each in value]
            return self._framework.dtype(value.name) if isinstance(value, DType) else value

        return [converted(each) for each in sample.args], {n: converted(v) for n, v in sample.kwargs.items()}

    def _flat(self, value: Any) -> list[Any]:
        if isinstance(value, list | tuple):
            return [each for item in value for each in self._flat(item)]
        return [value] if self._framework.is_array(value) else []


def _written(point: Point) -> frozenset[int]:
    """The places of the arguments that an operator with a kernel that works in place writes."""
    return frozenset(operator_of(point.info).targets) if "!)" in point.info.schema else frozenset()


def numbers(tensor: Tensor) -> Array:
    """The numbers of a Tensor of the runtime, of half precision, too."""
    return np.asarray(tensor.detach().resolve_conj()._array)


def module_of(package: str, target: str) -> str:
    """The module with the operators of a package for a framework, which lies beside the package's YAML.

    Args:
        package: the generated package, such as `mylib._generated`.
        target: the framework.

    Raises:
        Inapplicable: the project's own operators have no such module.
    """
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    yaml = json.loads(manifest_text(folders[0])).get("yaml")
    if not yaml:
        raise Inapplicable("only packages have operators of other frameworks")
    folder = PurePosixPath(os.path.normpath(f"{package.replace('.', '/')}/{PurePosixPath(yaml[0]).parent}"))
    return ".".join((*folder.parts, target))
