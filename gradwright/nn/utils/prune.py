"""Pruning: parameters of which a part is held at zero by a mask, chosen by chance or by size."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradwright.nn.module import Module
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.functional import norm

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """Base of ways to prune: a hook before `forward` that puts the product with a mask in a parameter's place.

    A subclass has a `PRUNING_TYPE`, "unstructured", "structured" or "global", and defines `compute_mask`.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask for a Tensor of which `default_mask` has hidden a part."""

    def apply_mask(self, module: Module) -> Tensor:
        """The product of the parameter and its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask: Tensor = getattr(module, f"{self._tensor_name}_mask")
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter of a Module, more where it is pruned already.

        Args:
            module: whose it is.
            name: its name.
            args: arguments of the class.
            importance_scores: numbers by which elements are chosen in place of their own.
            kwargs: arguments of the class.
        """
        found = [hook for hook in _methods(module) if hook._tensor_name == name]
        if len(found) > 1:
            raise AssertionError(f"{len(found)} pruning hooks found on '{name}' of {module}")
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, but it is "
                f"{tuple(importance_scores.shape)} and not {tuple(original.shape)}"
            )
        fresh = not found
        if found:
            _take_away(module, found[0])
            container = found[0]
            if not isinstance(container, PruningContainer):
                container = PruningContainer(container)
            container.add_pruning_method(method)
            method = container
            default_mask = getattr(module, f"{name}_mask").detach().clone()
        else:
            default_mask = ops.ones_like(original.detach())
            module.register_parameter(f"{name}_orig", module._parameters.pop(name))
        try:
            mask = method.compute_mask(importance_scores, default_mask)
            module.register_buffer(f"{name}_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if fresh:  # as if nothing had been asked for
                module.register_parameter(name, module._parameters.pop(f"{name}_orig"))
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned Tensor, without a Module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the parameter what it is with the mask now, for good."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        assert original is not None
        original.data = value.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _methods(module: Module) -> Iterator[BasePruningMethod]:
    return (hook for hook in module._forward_pre_hooks.values() if isinstance(hook, BasePruningMethod))


def _take_away(module: Module, method: BasePruningMethod) -> None:
    for number, hook in module._forward_pre_hooks.items():
        if hook is method:
            del module._forward_pre_hooks[number]
            return


class PruningContainer(BasePruningMethod):
    """Several ways to prune one parameter, one after the other; each chooses among what the others left."""

    PRUNING_TYPE = "container"

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for number, method in enumerate(methods):
            if number == 0:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """One more, of the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask that is there and that of the last one together, which sees what is not hidden yet."""
        method = self._pruning_methods[-1]
        hidden = default_mask.to(t.dtype)
        place: Any
        if method.PRUNING_TYPE == "unstructured":
            place = hidden == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim
            others = [other for other in range(t.dim()) if other != dim % t.dim()]
            kept = hidden.sum(others) != 0
            place = (*[slice(None)] * (dim % t.dim()), kept)
        elif method.PRUNING_TYPE == "global":
            place = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = hidden.clone()
        mask[place] = method.compute_mask(t[place], default_mask=hidden[place]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Hides nothing, for what is done with pruned parameters."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask that is there."""
        return default_mask


class _Amount(BasePruningMethod):
    """What a number of elements or channels is asked of, or a part of them."""

    amount: Any

    def _count(self, size: int) -> int:
        """How many of `size`."""
        if not isinstance(self.amount, numbers.Integral):
            return round(float(self.amount) * size)
        count = int(self.amount)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


def _checked_amount(amount: Any) -> Any:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


class RandomUnstructured(_Amount):
    """Hides elements by chance: a number of them, or a part."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        self.amount = _checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Those of the largest random numbers."""
        return _hidden(default_mask, ops.rand_like(t), self._count(t.numel()), largest=True)


class L1Unstructured(_Amount):
    """Hides the elements of the smallest sizes: a number of them, or a part."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        self.amount = _checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The smallest."""
        return _hidden(default_mask, t.abs(), self._count(t.numel()), largest=False)


def _hidden(mask: Tensor, scores: Tensor, count: int, largest: bool) -> Tensor:
    mask = mask.clone().contiguous()
    if count:
        mask.view(-1)[ops.topk(scores.reshape(-1), count, -1, largest).indices] = 0
    return mask


class _Channels(_Amount):
    """What hides whole channels."""

    PRUNING_TYPE = "structured"
    dim: int

    def _checked(self, t: Tensor) -> int:
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors.")
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return self._count(t.shape[self.dim])

    def _mask_of(self, t: Tensor, default_mask: Tensor, kept: Tensor) -> Tensor:
        """The mask with the channels hidden that are not among the kept ones."""
        mask = ops.zeros_like(t)
        mask[(*[slice(None)] * (self.dim % t.dim()), kept)] = 1
        return mask * default_mask.to(mask.dtype)


class RandomStructured(_Channels):
    """Hides channels by chance: a number of them, or a part."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        self.amount = _checked_amount(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Those of the smallest random numbers."""
        count = self._checked(t)
        if not count:
            return default_mask
        chances = ops.rand([t.shape[self.dim]])
        return self._mask_of(t, default_mask, chances > ops.kthvalue(chances, k=count).values)


class LnStructured(_Channels):
    """Hides the channels of the smallest norms: a number of them, or a part."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        self.amount = _checked_amount(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The channels of the largest norms stay."""
        count, size = self._checked(t), t.shape[self.dim]
        if not count:
            return default_mask
        others = [dim for dim in range(t.dim()) if dim != self.dim % t.dim()]
        lengths = _norm(t, self.n, others)
        return self._mask_of(t, default_mask, ops.topk(lengths, size - count, -1, True).indices)


def _norm(t: Tensor, n: Any, dims: list[int]) -> Tensor:
    lengths: Tensor = norm(t, p=n, dim=dims)
    return lengths


class CustomFromMask(BasePruningMethod):
    """Hides what a mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks together."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"a mask of {tuple(self.mask.shape)} does not fit {tuple(default_mask.shape)}")
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Prune a parameter without hiding anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Hide a number of elements, or a part of them, by chance."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Hide a number of elements, or a part of them: the smallest."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Hide a number of channels along `dim`, or a part of them, by chance."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Hide a number of channels along `dim`, or a part of them: those of the smallest norms of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Callable[..., BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one.

    Args:
        parameters: Modules and names.
        pruning_method: a class of unstructured pruning.
        importance_scores: numbers by which elements are chosen in place of their own, by Module and name.
        kwargs: arguments of the class.

    Raises:
        TypeError: the parameters are no collection, or it is another kind of pruning.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    places = list(parameters)
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = ops.cat([given.get(place, getattr(*place)).detach().reshape(-1) for place in places])
    masks = ops.cat(
        [getattr(m, f"{name}_mask", ops.ones_like(getattr(m, name).detach())).reshape(-1) for m, name in places]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    final = container.compute_mask(scores, masks)
    start = 0
    for module, name in places:
        parameter = getattr(module, name)
        end = start + parameter.numel()
        custom_from_mask(module, name, final[start:end].view_as(parameter))
        start = end


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Hide what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter what it is with its mask now, for good.

    Raises:
        ValueError: it is not pruned.
    """
    for hook in _methods(module):
        if hook._tensor_name == name:
            hook.remove(module)
            _take_away(module, hook)
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a Module, or one below it, is pruned."""
    return any(next(_methods(part), None) is not None for _, part in module.named_modules())
