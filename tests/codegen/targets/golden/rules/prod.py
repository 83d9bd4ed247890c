def save_prod_default(out: Array, self: Array, dtype: DType | None = None, *, needs: Sequence[bool] = (True,)) -> Saved:
    return Saved((self, out), (spec_of(self),))


def vjp_prod_default(saved: Saved, grad: Array, needs: Sequence[bool] = (True,)) -> Gradients:
    """The gradient of self."""
    xp = namespace(grad)
    self, result = saved.arrays
    (self_spec,) = saved.values
    # derivatives.yaml  self: prod_backward(grad, self, result)
    self_gradient = as_gradient(xp, helpers.prod_backward(xp, grad, self, result), self_spec)
    return (self_gradient,)


def jvp_prod_default(out: Array, self: Array, dtype: DType | None, self_t: Array | None) -> Array | None:
    """The tangent of the result."""
    xp = namespace(self)
    self_t = tangent_of(xp, self_t, self)
    # derivatives.yaml  result: prod_jvp(self_p, self_t)
    return as_tangent(xp, helpers.prod_jvp(xp, self, self_t), out)
