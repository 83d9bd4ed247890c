def save_native_layer_norm_default(
    out: Sequence[Array],
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None,
    bias: Array | None,
    eps: float,
    *,
    needs: Sequence[bool] = (True, True, True),
) -> Saved:
    return Saved(
        (input, weight, bias, out[1], out[2]),
        (
            normalized_shape,
            spec_of(input),
            None if weight is None else spec_of(weight),
            None if bias is None else spec_of(bias),
        ),
    )


def vjp_native_layer_norm_default(
    saved: Saved, grads: Sequence[Array | None], needs: Sequence[bool] = (True, True, True)
) -> Gradients:
    """The gradient of input, weight, bias."""
    xp = namespace(*grads)
    input, weight, bias, result1, result2 = saved.arrays
    normalized_shape, input_spec, weight_spec, bias_spec = saved.values
    grad_0, grad_1, grad_2 = grads
    input_gradient = weight_gradient = bias_gradient = None
    if grad_0 is not None or grad_1 is not None or grad_2 is not None:
        # derivatives.yaml  input, weight, bias: layer_norm_backward(grads[0], grads[1], grads[2], input,
        #    normalized_shape, weight, bias, result1, result2, grad_input_mask)
        mask = (needs[0], needs[1], needs[2])
        input_gradient, weight_gradient, bias_gradient = helpers.layer_norm_backward(
            xp,
            grad_0,
            grad_1,
            grad_2,
            input,
            normalized_shape,
            weight,
            bias,
            result1,
            result2,
            mask,
        )
        input_gradient = as_gradient(xp, input_gradient, input_spec)
        weight_gradient = as_gradient(xp, weight_gradient, weight_spec)
        bias_gradient = as_gradient(xp, bias_gradient, bias_spec)
    return (input_gradient, weight_gradient, bias_gradient)


def jvp_native_layer_norm_default(
    out: Sequence[Array],
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None,
    bias: Array | None,
    eps: float,
    input_t: Array | None,
    weight_t: Array | None,
    bias_t: Array | None,
) -> tuple[Array | None, ...]:
    """The tangent of each result."""
    xp = namespace(input)
    input_t = tangent_of(xp, input_t, input)
    weight_t = tangent_of(xp, weight_t, weight)
    bias_t = tangent_of(xp, bias_t, bias)
    result1 = out[1]
    result2 = out[2]
    # derivatives.yaml  result0, result1, result2: layer_norm_jvp(input_t, weight_t, bias_t, input_p,
    #    normalized_shape, weight_p, result1, result2)
    tangent_0, tangent_1, tangent_2 = helpers.layer_norm_jvp(
        xp,
        input_t,
        weight_t,
        bias_t,
        input,
        normalized_shape,
        weight,
        result1,
        result2,
    )
    return (as_tangent(xp, tangent_0, out[0]), as_tangent(xp, tangent_1, out[1]), as_tangent(xp, tangent_2, out[2]))
