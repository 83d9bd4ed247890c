# - func: f(int[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool?
#     pin_memory=None) -> Tensor
#   dispatch: {CPU: made}


def f_default(size, *, dtype=dtypes.long, layout=None, device=None, pin_memory=None):
    """f(int[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"""
    if plain and layout is None and device is None and pin_memory is None and (dtype is None or type(dtype) is dtypes.dtype):
        size = int_tuple(size, None)
        try:
            result = f_default_kernel(size, (dtype or dtypes.long).numpy)
        except Exception:
            return f_default_op(size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
        if type(result) is not ndarray:
            if not isinstance(result, (ndarray, generic)):
                return f_default_op(size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
            result = asarray(result)
        out = new(Tensor)
        out._array = result
        out._base = out._edge = out._writes = out._extra = None
        return out
    return f_default_op(size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


f_default_op = Operator(
    "f(int[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "made")},
    facts=SignatureFacts(arguments=(("size", "int[]"), ("dtype", "ScalarType?", "long"), ("layout", "Layout?", None), ("device", "Device?", None), ("pin_memory", "bool?", None)), positional=1, placements=(2, 3, 4), is_factory=True),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "made")
