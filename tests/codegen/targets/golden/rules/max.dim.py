def save_max_dim(
    out: Sequence[Array], self: Array, dim: int, keepdim: bool = False, *, needs: Sequence[bool] = (True,)
) -> Saved:
    return Saved((out[1],), (dim, keepdim, self.shape, spec_of(self)))


def vjp_max_dim(saved: Saved, grad: Array, needs: Sequence[bool] = (True,)) -> Gradients:
    """The gradient of self."""
    xp = namespace(grad)
    (indices,) = saved.arrays
    dim, keepdim, self_sym_sizes, self_spec = saved.values
    # derivatives.yaml  self: scatter_reduced(grad, self.sym_sizes(), dim, indices, keepdim)
    self_gradient = as_gradient(xp, helpers.scatter_reduced(xp, grad, self_sym_sizes, dim, indices, keepdim), self_spec)
    return (self_gradient,)


def jvp_max_dim(
    out: Sequence[Array], self: Array, dim: int, keepdim: bool, self_t: Array | None
) -> tuple[Array | None, ...]:
    """The tangent of each result."""
    xp = namespace(self)
    self_t = tangent_of(xp, self_t, self)
    indices = out[1]
    # derivatives.yaml  values: gather_reduced(self_t, dim, indices, keepdim)
    tangent_0 = as_tangent(xp, helpers.gather_reduced(xp, self_t, dim, indices, keepdim), out[0])
    return (tangent_0, None)
