# - func: f(Tensor array) -> Tensor
#   dispatch: {CPU: array}


def f_default(array):
    """f(Tensor array) -> Tensor"""
    return f_default_fast_path(array)


def f_default_fast_path(array_):
    if type(array_) in plain:
        array__array = array_._array
        if (common := array__array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(array__array)
            except Exception:
                return f_default_op(array_)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(array_)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if array_._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(array_)


f_default_op = Operator(
    "f(Tensor array) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "array")},
    facts=SignatureFacts(arguments=(("array", "Tensor"),), positional=1),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "array")
