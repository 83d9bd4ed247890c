# - func: f(Tensor(a) self) -> Tensor(a)
#   dispatch: {CPU: one}
#
# - name: f(Tensor(a) self) -> Tensor(a)
#   self: grad


def f_default(self):
    """f(Tensor(a) self) -> Tensor(a)"""
    if type(self) in plain:
        self_array = self._array
        try:
            result = f_default_kernel(self_array)
        except Exception:
            return f_default_op(self)
        if type(result) is not ndarray:
            return f_default_op(self)
        out = view_of(result, self)
        if self._edge is not None and grad_mode.enabled:
            nodes.record_f_default(out, self)
        return out
    return f_default_op(self)


f_default_op = Operator(
    "f(Tensor(a) self) -> Tensor(a)",
    f_default,
    kernels={"CPU": deferred(small_kernels, "one")},
    facts=SignatureFacts(arguments=(("self", "Tensor"),), positional=1, returned=(-1,), base=0),
    record="f_default",
    differentiable=("self",),
    factors=(("self",),),
    view="single",
    batching=("loop", (0,), ()),
)


f_default_kernel = deferred(small_kernels, "one")
