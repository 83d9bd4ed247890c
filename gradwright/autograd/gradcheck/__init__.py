"""`gradcheck` and `gradgradcheck`: derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradwright.autograd.gradcheck.error import GradcheckError
from runtime.base.tensor import Tensor
from runtime.graph.backward import grad as autograd_grad
from runtime.graph.grad_mode import enable_grad

if TYPE_CHECKING:
    from gradwright.autograd.gradcheck.problem import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

# The modules of this package are loaded by the first check: this one is part of every `import gradwright`, because
# `autograd.gradcheck` has to stay the function after an import of the module of that name.


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of `func` at `inputs` against central differences.

    Args:
        func: takes `inputs`, returns a Tensor or a tuple of them.
        inputs: those that require grad are checked; they should be float64 or complex128.
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise if a check fails; otherwise return False.
        nondet_tol: how much two runs of the same backward may differ.
        check_undefined_grad: check that a missing gradient of an output, or a missing tangent of an input, counts as
            zeros.
        check_grad_dtypes: check that gradients have the dtype of their inputs, tangents that of their outputs.
        check_batched_grad: check that several output gradients at once give what each gives alone.
        check_batched_forward_grad: the same for tangents.
        check_forward_ad: check forward mode.
        check_backward_ad: check backward mode.
        fast_mode: compare along one random direction instead of element by element.
        masked: about sparse Tensors; means nothing for the others.

    Returns:
        Whether all checks passed.

    Raises:
        GradcheckError: a check failed and `raise_exception` is true.
        AssertionError: the options contradict each other.
        ValueError: there is nothing to check.
        RuntimeError: an input overlaps itself in memory.
    """
    from gradwright.autograd.gradcheck import checks, compare
    from gradwright.autograd.gradcheck.problem import Problem, Tolerance, check_inputs

    _require(check_forward_ad or check_backward_ad, "Expected at least one of check_forward_ad or check_backward_ad")
    _require(check_backward_ad or not check_batched_grad, "Setting check_batched_grad=True requires check_backward_ad")
    _require(
        check_forward_ad or not check_batched_forward_grad,
        "Setting check_batched_forward_grad=True requires check_forward_ad",
    )
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        with enable_grad():
            check_inputs(arguments)
            problem = Problem(func, arguments, Tolerance(eps, atol, rtol, nondet_tol))
            if not problem.outputs:
                checks.no_derivative(problem)
                return True
            if check_backward_ad:
                checks.determinism(problem)
                if check_grad_dtypes:
                    checks.gradient_dtypes(problem)
                compare.backward(problem, fast_mode)
            if check_forward_ad:
                if check_grad_dtypes:
                    checks.tangent_dtypes(problem)
                compare.forward(problem, fast_mode)
                if check_undefined_grad:
                    checks.undefined_tangents(problem)
                if check_batched_forward_grad:
                    checks.batched_tangents(problem)
            if check_backward_ad:
                if check_batched_grad:
                    checks.batched_gradients(problem)
                checks.zero_gradients(problem)
                if check_undefined_grad:
                    checks.undefined_gradients(problem)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives of `func`: `gradcheck` of its gradient as a function of inputs and output gradients.

    Args:
        func: as for `gradcheck`.
        inputs: as for `gradcheck`.
        grad_outputs: gradients of the outputs; made up if left out.
        eps: as for `gradcheck`, and so all that follow, except:
        gen_non_contig_grad_outputs: make up gradients that are not contiguous.
        check_undefined_grad: needs `check_rev_over_rev`.
        check_batched_grad: needs `check_rev_over_rev`.
        check_fwd_over_rev: check forward mode over backward.
        check_rev_over_rev: check backward mode over backward.

    Returns:
        Whether all checks passed.

    Raises:
        GradcheckError: a check failed and `raise_exception` is true.
        AssertionError: the options contradict each other.
    """
    from gradwright.autograd.gradcheck.problem import differentiable, made_up

    _require(
        check_fwd_over_rev or check_rev_over_rev, "Expected at least one of check_fwd_over_rev or check_rev_over_rev"
    )
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        _require(check_rev_over_rev or not wanted, f"Setting {name}=True requires check_rev_over_rev")
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        with enable_grad():
            starts = made_up(differentiable(func(*arguments)), gen_non_contig_grad_outputs)
    else:
        starts = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(starts)

    def gradient(*values: Any) -> tuple[Tensor, ...]:
        own, starts = values[: len(values) - count], values[len(values) - count :]
        wanted = [value for value in own if isinstance(value, Tensor) and value.requires_grad]
        results = differentiable(func(*own))
        gradients = autograd_grad(results, wanted, starts, create_graph=True, allow_unused=True)
        return tuple([g for g in gradients if g is not None])

    return gradcheck(
        gradient,
        (*arguments, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(f"{text} to be True")
