# - func: f(Tensor[] tensors) -> Tensor
#   dispatch: {CPU: listed}
#
# - name: f(Tensor[] tensors) -> Tensor
#   tensors: of_each(grad, tensors)


def f_default(tensors):
    """f(Tensor[] tensors) -> Tensor"""
    if all_plain(tensors):
        try:
            result = f_default_kernel([each._array for each in tensors])
        except Exception:
            return f_default_op(tensors)
        if type(result) is not ndarray:
            if not isinstance(result, (ndarray, generic)):
                return f_default_op(tensors)
            result = asarray(result)
        if not result.flags.c_contiguous:
            result = layouts.contiguous(result)
        out = new(Tensor)
        out._array = result
        out._base = out._edge = out._writes = out._extra = None
        if any_edge(tensors) and grad_mode.enabled:
            nodes.record_f_default(out, tensors)
        return out
    return f_default_op(tensors)


f_default_op = Operator(
    "f(Tensor[] tensors) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "listed")},
    facts=SignatureFacts(arguments=(("tensors", "Tensor[]"),), positional=1),
    record="f_default",
    differentiable=("tensors",),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "listed")
