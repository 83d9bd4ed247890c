# - func: f(Tensor self) -> Tensor
#   dispatch: {CompositeExplicitAutograd: composite}
#
# - name: f(Tensor self) -> Tensor
#   self: grad


def f_default(self):
    """f(Tensor self) -> Tensor"""
    return f_default_op(self)


f_default_op = Operator(
    "f(Tensor self) -> Tensor",
    f_default,
    kernels={"CompositeExplicitAutograd": deferred(small_composite, "composite")},
    facts=SignatureFacts(arguments=(("self", "Tensor"),), positional=1),
    record="f_default",
    differentiable=("self",),
    factors=(("self",),),
    batching=("loop", (0,), ()),
)
