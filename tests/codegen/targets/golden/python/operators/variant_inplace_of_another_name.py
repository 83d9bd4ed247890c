# - func: g(Tensor self, Tensor other) -> Tensor
#   dispatch: {CPU: two}
#   autogen: g_
# - func: f(Tensor self, Tensor other) -> Tensor
#   composite: g(self, other)
#   autogen: f_


def composite_f_default(self, other):
    # native_functions.yaml:23  composite: g(self, other)
    return ops.g_default(self, other)


def inplace_f_default(self, other):
    return ops.g__default(self, other)


def f_default(self, other=absent):
    """f(Tensor self, Tensor other) -> Tensor"""
    try:
        return f_default_op.composite(self, other)
    except Exception as error:
        raise f_default_op.explained(error, (self, other))


f_default_op = Operator(
    "f(Tensor self, Tensor other) -> Tensor",
    f_default,
    kernels={"CompositeImplicitAutograd": composite_f_default},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("other", "Tensor")), positional=2),
    inplace_formula=inplace_f_default,
)


def f__default(self, other=absent):
    return f_default_op.inplace(self, other)
