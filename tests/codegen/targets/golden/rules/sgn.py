def save_sgn_default(out: Array, self: Array, *, needs: Sequence[bool] = (True,)) -> Saved:
    return Saved((self, out), (spec_of(self),))


def vjp_sgn_default(saved: Saved, grad: Array, needs: Sequence[bool] = (True,)) -> Gradients:
    """The gradient of self."""
    xp = namespace(grad)
    self, result = saved.arrays
    (self_spec,) = saved.values
    # derivatives.yaml  self: sgn_backward(grad, self, result)
    self_gradient = as_gradient(xp, helpers.sgn_backward(xp, grad, self, result), self_spec)
    return (self_gradient,)


def jvp_sgn_default(out: Array, self: Array, self_t: Array | None) -> Array | None:
    """The tangent of the result."""
    xp = namespace(self)
    self_t = tangent_of(xp, self_t, self)
    result = out
    # derivatives.yaml  result: sgn_backward(self_t, self_p, result)
    return as_tangent(xp, helpers.sgn_backward(xp, self_t, self, result), out)
