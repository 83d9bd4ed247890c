# - func: f(Tensor self, *, ScalarType? dtype=None) -> Tensor
#   dispatch: {CompositeImplicitAutograd: typed}
#   dtypes: floating


def f_default(self, *, dtype=None):
    """f(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    if not (dtype is None and type(self) in plain and (self._array.dtype is float32 or self._array.dtype is float64)):
        f_default_op.check_dtypes((self, dtype))
    try:
        return f_default_op.composite(self, dtype=dtype)
    except Exception as error:
        raise f_default_op.explained(error, (self, dtype))


f_default_op = Operator(
    "f(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    f_default,
    kernels={"CompositeImplicitAutograd": deferred(small_composite, "typed")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("dtype", "ScalarType?", None)), positional=1),
    dtypes=(("half", "float"), None, "NotImplementedError"),
)
