def save_index_select_default(
    out: Array, self: Array, dim: int, index: Array, *, needs: Sequence[bool] = (True,)
) -> Saved:
    return Saved((index,), (dim, self.shape, spec_of(self)))


def vjp_index_select_default(saved: Saved, grad: Array, needs: Sequence[bool] = (True,)) -> Gradients:
    """The gradient of self."""
    xp = namespace(grad)
    (index,) = saved.arrays
    dim, self_sym_sizes, self_spec = saved.values
    # derivatives.yaml  self: index_select_backward(grad, self.sym_sizes(), dim, index)
    self_gradient = as_gradient(xp, helpers.index_select_backward(xp, grad, self_sym_sizes, dim, index), self_spec)
    return (self_gradient,)


def jvp_index_select_default(out: Array, self: Array, dim: int, index: Array, self_t: Array | None) -> Array | None:
    """The tangent of the result."""
    xp = namespace(self)
    self_t = tangent_of(xp, self_t, self)
    # derivatives.yaml  result: auto_linear
    return as_tangent(xp, ops.index_select(xp, self_t, dim, index), out)
