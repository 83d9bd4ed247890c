"""The base of optimizers: parameters in groups with options, a state for each, and steps with hooks."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import numpy as np

from gradwright.autograd import enable_grad, set_grad_enabled
from gradwright.nn.hooks import HookHandle
from gradwright.nn.module import clear_grad
from gradwright.nn.naming import typename
from runtime.base.dtypes import float64, get_default_dtype
from runtime.base.tensor import Tensor, wrap

Parameters = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Group = dict[str, Any]

_HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` of a class, with the hooks of the optimizer around it."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not hooked:
            return step(self, *args, **kwargs)  # called by the step of a subclass, which has the hooks
        arguments: tuple[Any, ...] = (self, *args)
        for before in list(self._hooks["step_pre"].values()):
            changed = before(self, arguments, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            arguments, kwargs = changed
        if "_opt_called" in self.__dict__:
            self._opt_called = True
        out = step(*arguments, **kwargs)
        for after in list(self._hooks["step_post"].values()):
            after(self, arguments, kwargs)
        return out

    return hooked


class Optimizer:
    """Base class of optimizers; a subclass defines `step`.

    Args:
        params: Tensors, pairs of names and Tensors, or groups: dicts of those under `params` and of options.
        defaults: the options of groups that do not give them.

    Raises:
        TypeError: `params` is a Tensor, or something in it is none.
        ValueError: there are no parameters, or one that is computed from others, or is in two groups.
    """

    # Set while a schedule of the learning rate wants to know.
    _opt_called: bool

    param_groups: list[Group]
    state: defaultdict[Tensor, Any]

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients.

        Args:
            closure: computes the loss and its gradients again, and returns the loss.

        Returns:
            What `closure` returned, None without one.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                clear_grad(parameter, set_to_none)

    # -- groups

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, which is changed: it gets the default options.

        Raises:
            TypeError: it is no dict, or its parameters are no Tensors.
            ValueError: it has a parameter that is computed from others, or one of another group.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        members = [params] if isinstance(params, Tensor) else list(params)
        named = [isinstance(member, tuple) for member in members]
        if any(named):
            if not all(named):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in members]
            members = [tensor for _, tensor in members]
        param_group["params"] = members
        self._check_members(members)
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            which = "with" if "param_names" in param_group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{which} names to the optimizer"
            )
        if not set(members).isdisjoint(self._all_parameters()):
            raise ValueError("some parameters appear in more than one parameter group")
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _check_members(self, members: Sequence[Any]) -> None:
        for member in members:
            if not isinstance(member, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(member)}")
            if not (member.is_leaf or member.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        if len(set(members)) != len(members):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=4,
            )

    # -- state

    def state_dict(self) -> dict[str, Any]:
        """The state and the options, with numbers in the place of parameters: those of the first group come first."""
        for before in list(self._hooks["state_dict_pre"].values()):
            before(self)
        numbers = {parameter: number for number, parameter in enumerate(self._all_parameters())}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[parameter] for parameter in group["params"]]
            groups.append(packed)
        state = {numbers[key] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict: dict[str, Any] = {"state": state, "param_groups": groups}
        for after in list(self._hooks["state_dict_post"].values()):
            changed = after(self, state_dict)
            if changed is not None:
                state_dict = changed
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state and the options that `state_dict` returned; parameters are matched by their order.

        Arrays in it become Tensors.

        Raises:
            ValueError: there are other groups, or groups of other sizes.
        """
        state_dict = dict(state_dict)
        for before in list(self._hooks["load_state_dict_pre"].values()):
            changed = before(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        parameters = dict(zip(numbers, self._all_parameters(repeated=True), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            parameter = parameters.get(key)
            state[key if parameter is None else parameter] = (
                value if parameter is None else _converted(value, parameter)
            )
        for new, own in zip(saved, self.param_groups, strict=True):
            new["params"] = own["params"]
            if "param_names" in own:
                new.setdefault("param_names", own["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in list(self._hooks["load_state_dict_post"].values()):
            after(self)

    def _all_parameters(self, repeated: bool = False) -> Iterable[Tensor]:
        parameters = chain.from_iterable(group["params"] for group in self.param_groups)
        return parameters if repeated else dict.fromkeys(parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)  # an option that is newer than the saved state

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            options = "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
            text += f"\nParameter Group {number}\n{options}"
        return f"{text})"

    # -- hooks

    @functools.cached_property  # optimizers of others may set their groups without a call of our `__init__`
    def _hooks(self) -> dict[str, OrderedDict[int, Callable[..., Any]]]:
        return {name: OrderedDict() for name in _HOOKS}

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(optimizer, args, kwargs)` before a step; it may return both anew."""
        return HookHandle(self._hooks["step_pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> HookHandle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return HookHandle(self._hooks["step_post"], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return HookHandle(self._hooks["state_dict_pre"], hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return HookHandle(self._hooks["state_dict_post"], hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer, state_dict)` before `load_state_dict`; it may return another one."""
        return HookHandle(self._hooks["load_state_dict_pre"], hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> HookHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return HookHandle(self._hooks["load_state_dict_post"], hook, prepend)


class GroupOptimizer(Optimizer):
    """An optimizer that changes one group after the other; a subclass defines `_update_group`."""

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; see `Optimizer.step`.

        Raises:
            AssertionError: `capturable` is true, or `foreach` and `differentiable` are.
        """
        with set_grad_enabled(self._is_recorded()):
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                if group.get("capturable"):
                    raise AssertionError("capturable=True is for devices whose graphs can be captured: there are none")
                if group.get("foreach") and self._is_recorded():
                    raise AssertionError("foreach=True and differentiable=True can not be together")
                self._update_group(group)
        return loss

    def _is_recorded(self) -> bool:
        """Whether steps are operations that gradients go through."""
        return bool(self.defaults.get("differentiable"))

    def _update_group(self, group: Group) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _update_group")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for kept in self.state.values():
            # Once PyTorch kept numbers of steps as numbers.
            if isinstance(kept.get("step"), (int, float)):
                kept["step"] = number_kept(kept["step"])


def number_kept(value: float) -> Tensor:
    """A number of a state: a Tensor of float32, or of float64 where that is the default."""
    return wrap(np.array(value, np.float64 if get_default_dtype() is float64 else np.float32))


def check_range(what: str, value: Any) -> None:
    """Refuse a negative option.

    Raises:
        ValueError: it is negative.
    """
    if not value >= 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: tuple[Any, ...]) -> None:
    """Refuse parts of running means that are no parts.

    Raises:
        ValueError: one is not from 0 to below 1.
    """
    for number, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {number}: {beta}")


def check_lr(lr: float | Tensor, foreach: bool | None = None) -> None:
    """Refuse a learning rate that is none.

    Raises:
        ValueError: it is negative, or a Tensor that is no single number, or one together with `foreach`.
    """
    if isinstance(lr, Tensor) and foreach:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    check_one_element(lr)
    check_range("learning rate", lr)


def check_one_element(lr: float | Tensor) -> None:
    """Refuse a Tensor that is no single number.

    Raises:
        ValueError: it has more elements, or none.
    """
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def _converted(value: Any, parameter: Tensor, key: Any = None) -> Any:
    """A saved value as the state of a parameter: Tensors get its dtype, but for the count of steps."""
    if isinstance(value, np.ndarray):
        value = wrap(value.copy())
    if isinstance(value, Tensor):
        return value if key == "step" or not parameter.is_floating_point() else value.to(parameter.dtype)
    if isinstance(value, dict):
        return {name: _converted(item, parameter, name) for name, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_converted(item, parameter) for item in value)
    return value
