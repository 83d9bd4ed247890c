"""`GradScaler`: gradients of a loss in half precision, made large enough not to vanish."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from enum import Enum
from typing import Any

from runtime import ops
from runtime.base import dtypes
from runtime.base.creation import tensor
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import no_grad

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What was done for an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies a loss before its backward, and divides the gradients before a step.

    A step whose gradients have inf or NaN is left out, and the factor is made smaller; after `growth_interval` good
    steps it is made larger. For a device that is not there it changes nothing, and warns.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cpu":
            warnings.warn(
                f"GradScaler is enabled, but {device.upper()} is not available. Disabling.", UserWarning, stacklevel=2
            )
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device = device
        self._enabled = enabled
        self._scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._done: dict[int, OptState] = {}
        self._found_inf: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """The Tensors of a loss times the factor, in lists as they came."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * tensor(self._scale, dtype=dtypes.float32)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(each) for each in outputs)
        if isinstance(outputs, Iterator):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor, as clipping needs them.

        Raises:
            RuntimeError: that was done since the last `update`, or the optimizer has stepped.
            ValueError: a gradient is in float16.
        """
        if not self._enabled:
            return
        done = self._done.get(id(optimizer), OptState.READY)
        if done is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if done is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype is dtypes.float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        with no_grad():
            for grad in grads:
                grad.mul_(1.0 / self._scale)
            self._found_inf[id(optimizer)] = not all(bool(ops.isfinite(grad).all()) for grad in grads)
        self._done[id(optimizer)] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Let the optimizer take a step, unless a gradient has inf or NaN.

        Raises:
            RuntimeError: a closure is given, or the optimizer has stepped since the last `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        done = self._done.get(id(optimizer), OptState.READY)
        if done is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if done is OptState.READY:
            self.unscale_(optimizer)
        self._done[id(optimizer)] = OptState.STEPPED
        return None if self._found_inf[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the factor for the next iteration: by the gradients that were seen, or to `new_scale`.

        Raises:
            AssertionError: no step was taken before.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found_inf:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found_inf.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                if math.isfinite(grown := self._scale * self._growth_factor):
                    self._scale = grown
                self._growth_tracker = 0
        self._done, self._found_inf = {}, {}

    def get_scale(self) -> float:
        """The factor; 1 where the scaler is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by to grow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set it."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by after inf or NaN."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set it."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set it."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The factor, how it changes and the good steps so far; empty where the scaler is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave.

        Raises:
            RuntimeError: it is empty: of a scaler that was off.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
