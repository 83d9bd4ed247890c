# - func: f(int[] size, Scalar value, *, ScalarType? dtype=None, Layout? layout=None, Device?
#     device=None, bool? pin_memory=None) -> Tensor
#   dispatch: {CPU: filled}
#   promotion: default(value)


def f_default(size, value=absent, *, dtype=None, layout=None, device=None, pin_memory=None):
    """f(int[] size, Scalar value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"""
    if plain and layout is None and device is None and pin_memory is None and (dtype is None or type(dtype) is dtypes.dtype) and type(value) in real_numbers:
        size = int_tuple(size, None)
        try:
            result = f_default_kernel(size, value, (dtype or dtypes.promoted_dtype("default", (value,))).numpy)
        except Exception:
            return f_default_op(size, value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
        if type(result) is not ndarray:
            if not isinstance(result, (ndarray, generic)):
                return f_default_op(size, value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
            result = asarray(result)
        out = new(Tensor)
        out._array = result
        out._base = out._edge = out._writes = out._extra = None
        return out
    return f_default_op(size, value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


f_default_op = Operator(
    "f(int[] size, Scalar value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "filled")},
    facts=SignatureFacts(arguments=(("size", "int[]"), ("value", "Scalar"), ("dtype", "ScalarType?", None), ("layout", "Layout?", None), ("device", "Device?", None), ("pin_memory", "bool?", None)), positional=2, placements=(3, 4, 5), is_factory=True),
    promotion=("default", ("value",)),
    numbers=(("value", "wrap"),),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "filled")
