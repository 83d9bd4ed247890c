# - func: f(Tensor self) -> (Tensor, Tensor)
#   dispatch: {CompositeImplicitAutograd: composite}


def f_default(self):
    """f(Tensor self) -> (Tensor, Tensor)"""
    try:
        return f_default_op.counted(f_default_op.composite(self))
    except Exception as error:
        raise f_default_op.explained(error, (self,))


f_default_op = Operator(
    "f(Tensor self) -> (Tensor, Tensor)",
    f_default,
    kernels={"CompositeImplicitAutograd": deferred(small_composite, "composite")},
    facts=SignatureFacts(arguments=(("self", "Tensor"),), positional=1, results=("Tensor", "Tensor")),
)
