# - func: f(Tensor(a) self) -> Tensor(a)[]
#   dispatch: {CPU: one}


def f_default(self):
    """f(Tensor(a) self) -> Tensor(a)[]"""
    if type(self) in plain:
        self_array = self._array
        try:
            result = f_default_kernel(self_array)
        except Exception:
            return f_default_op(self)
        if not isinstance(result, (tuple, list)) or not are_arrays(result):
            return f_default_op(self)
        out = tuple([view_of(array, self, "multi") for array in result])
        if self._edge is not None:
            f_default_op.undifferentiable(out)
        return out
    return f_default_op(self)


f_default_op = Operator(
    "f(Tensor(a) self) -> Tensor(a)[]",
    f_default,
    kernels={"CPU": deferred(small_kernels, "one")},
    facts=SignatureFacts(arguments=(("self", "Tensor"),), positional=1, results=("Tensor[]",), returned=(-1,), base=0),
    view="multi",
    batching=("loop", (0,), ()),
)


f_default_kernel = deferred(small_kernels, "one")
