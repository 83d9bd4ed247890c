# - func: f(Tensor self, Dimname dim) -> Tensor
#   dispatch: {CPU: along}


def f_default(self, dim=absent):
    """f(Tensor self, Dimname dim) -> Tensor"""
    return f_default_op(self, dim)


f_default_op = Operator(
    "f(Tensor self, Dimname dim) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "along")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("dim", "Dimname")), positional=2),
    in_float32=True,
    batching=("along", (0,), (1,)),
    layout=("contiguous", (), (0,)),
)
