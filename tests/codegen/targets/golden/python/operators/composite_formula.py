# - func: f(Tensor self, Scalar by=2) -> Tensor
#   composite: self * by * self


def composite_f_default(self, by=2):
    # native_functions.yaml:20  composite: self * by * self
    return ops.mul_Tensor(ops.mul_Scalar(self, by), self)


def f_default(self, by=2):
    """f(Tensor self, Scalar by=2) -> Tensor"""
    try:
        return f_default_op.composite(self, by)
    except Exception as error:
        raise f_default_op.explained(error, (self, by))


f_default_op = Operator(
    "f(Tensor self, Scalar by=2) -> Tensor",
    f_default,
    kernels={"CompositeImplicitAutograd": composite_f_default},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("by", "Scalar", 2)), positional=2),
)
