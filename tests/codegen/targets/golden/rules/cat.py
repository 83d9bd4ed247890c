def save_cat_default(out: Array, tensors: Sequence[Array], dim: int = 0, *, needs: Sequence[bool] = (True,)) -> Saved:
    return Saved(
        (),
        (dim, [each.shape for each in tensors], tuple([None if each is None else spec_of(each) for each in tensors])),
    )


def vjp_cat_default(saved: Saved, grad: Array, needs: Sequence[bool] = (True,)) -> Gradients:
    """The gradient of tensors."""
    xp = namespace(grad)
    dim, tensors_args_sizes, tensors_spec = saved.values
    # derivatives.yaml  tensors: cat_backward(grad, to_args_sizes(tensors), dim)
    tensors_gradient = as_gradients(xp, helpers.cat_backward(xp, grad, tensors_args_sizes, dim), tensors_spec)
    return (tensors_gradient,)


def jvp_cat_default(
    out: Array, tensors: Sequence[Array], dim: int, tensors_t: Sequence[Array | None] | None
) -> Array | None:
    """The tangent of the result."""
    xp = namespace(tensors[0])
    tensors_t = as_tangents(xp, tensors_t, tensors)
    # derivatives.yaml  result: auto_linear
    return as_tangent(xp, ops.cat(xp, tensors_t, dim), out)
