# - func: f(Tensor self, *, Generator? generator=None) -> Tensor
#   dispatch: {CPU: drawn}
#   tags: nondeterministic_seeded


def f_default(self, *, generator=None):
    """f(Tensor self, *, Generator? generator=None) -> Tensor"""
    if type(self) in plain and generator is None and not thread_handlers.calls:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, generator)
            except Exception:
                return f_default_op(self, generator=generator)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, generator=generator)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(self, generator=generator)


f_default_op = Operator(
    "f(Tensor self, *, Generator? generator=None) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "drawn")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("generator", "Generator?", None)), positional=1),
    in_float32=True,
    batching=("random", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "drawn")
