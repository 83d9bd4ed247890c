"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwright.autograd import enable_grad, no_grad
from gradwright.optim.line_search import Number, Point, strong_wolfe
from gradwright.optim.optimizer import Optimizer, Parameters, check_lr
from runtime import ops
from runtime.base.tensor import Tensor


class LBFGS(Optimizer):
    """L-BFGS: Newton's method, with a Hessian that the last changes of gradients tell of (Liu and Nocedal 1989).

    There is one group of parameters. A step calls its closure several times.

    Args:
        params: Tensors, or pairs of names and Tensors.
        lr: the learning rate: the step length, or with a line search the first one to try.
        max_iter: the largest number of iterations in a step.
        max_eval: the largest number of calls of the closure in a step; None for 1.25 times `max_iter`.
        tolerance_grad: a step ends where no part of the gradient is larger.
        tolerance_change: a step ends where neither the loss nor a parameter changes by more.
        history_size: how many changes are kept.
        line_search_fn: "strong_wolfe", or None for none.

    Raises:
        ValueError: the learning rate is negative, or there are several groups.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters until one of the bounds is reached.

        Args:
            closure: computes the loss and its gradients again, and returns the loss; it must be given.

        Returns:
            What `closure` returned at first.

        Raises:
            TypeError: there is no closure.
            RuntimeError: `line_search_fn` is unknown.
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        evaluate = enable_grad()(closure)
        group = self.param_groups[0]
        lr, tolerance_change = float(group["lr"]), group["tolerance_change"]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = evaluate()
        loss, grad = float(first_loss), self._gradient()
        state["func_evals"] += 1
        if not grad.numel() or self._is_flat(grad):
            return first_loss

        calls, length, previous_loss = 1, state.get("t"), state.get("prev_loss")
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = state["d"] = self._direction(state, grad, length)
            state["prev_flat_grad"], previous_loss = grad.clone(), loss
            length = _first_length(grad) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -tolerance_change:
                break

            new_calls = 0
            if group["line_search_fn"] is not None:
                start, most = Point(0, loss, grad, slope), group["max_eval"] - calls
                found, new_calls = self._search(evaluate, start, length, direction, most)
                _, loss, grad, _ = found
                length = found.length
                self._move(length, direction)
            else:
                self._move(length, direction)
                if iteration != group["max_iter"]:
                    loss, grad = float(evaluate()), self._gradient()
                    new_calls = 1
            calls += new_calls
            state["func_evals"] += new_calls

            if (
                calls >= group["max_eval"]
                or self._is_flat(grad)
                or (direction * length).abs().max() <= tolerance_change
                or abs(loss - previous_loss) < tolerance_change
            ):
                break
        state["t"], state["prev_loss"] = length, previous_loss
        return first_loss

    def _direction(self, state: dict[str, Any], grad: Tensor, length: Number) -> Tensor:
        """Where to go: against the gradient, times the inverse Hessian (Nocedal and Wright 2006, algorithm 7.4)."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"], state["d"] * length
        curvature = change.dot(step)
        size = self.param_groups[0]["history_size"]
        if curvature > 1e-10:
            if len(changes) == size:
                for kept in (changes, steps, inverses):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        factors = state.setdefault("al", [None] * size)
        rest = grad.neg()
        for number in reversed(range(len(changes))):
            factors[number] = steps[number].dot(rest) * inverses[number]
            rest.add_(changes[number], alpha=-factors[number].item())
        found: Tensor = rest * state["H_diag"]
        for number in range(len(changes)):
            factor = factors[number] - changes[number].dot(found) * inverses[number]
            found.add_(steps[number], alpha=factor.item())
        return found

    def _search(
        self, closure: Callable[[], Any], start: Point, length: Number, direction: Tensor, most: int
    ) -> tuple[Point, int]:
        """A step length, and how often the closure was called; the parameters are where they were."""
        group = self.param_groups[0]
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        before = [param.clone() for param in group["params"]]

        def evaluate(length: Number) -> Point:
            self._move(length, direction)
            loss, grad = float(closure()), self._gradient()
            for param, values in zip(group["params"], before, strict=True):
                param.copy_(values)
            return Point(length, loss, grad, grad.dot(direction))

        return strong_wolfe(evaluate, start, length, direction.abs().max(), group["tolerance_change"], most)

    def _is_flat(self, grad: Tensor) -> bool:
        return bool(grad.abs().max() <= self.param_groups[0]["tolerance_grad"])

    def _gradient(self) -> Tensor:
        """The gradients of all parameters in one row, of complex ones both parts."""
        rows = []
        for param in self.param_groups[0]["params"]:
            grad = ops.zeros_like(param.detach()) if param.grad is None else param.grad.detach()
            rows.append((ops.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        row: Tensor = ops.cat(rows, 0)
        return row

    def _move(self, length: Number, direction: Tensor) -> None:
        start = 0
        for param in self.param_groups[0]["params"]:
            values = ops.view_as_real(param) if param.is_complex() else param
            part = direction[start : start + values.numel()].reshape(values.shape)
            values.add_(part, alpha=float(length))
            start += values.numel()


def _first_length(grad: Tensor) -> Number:
    """So long that the magnitudes of changes are at most 1 together, and no longer than 1."""
    length = 1.0 / grad.abs().sum()
    return length if length < 1.0 else 1.0
