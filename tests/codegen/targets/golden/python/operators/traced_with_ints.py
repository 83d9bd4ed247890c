# - func: f(Tensor self, int dim, int? start=None, int[2] size=0, int[]? sizes=None) -> Tensor
#   dispatch: {CompositeImplicitAutograd: counted}


def f_default(self, dim=absent, start=None, size=(0, 0), sizes=None):
    """f(Tensor self, int dim, int? start=None, int[2] size=0, int[]? sizes=None) -> Tensor"""
    if type(size) is not tuple:
        size = int_tuple(size, 2)
    if sizes is not None and type(sizes) is not tuple:
        sizes = int_tuple(sizes, None)
    if type(dim) is not int or (start is not None and type(start) is not int) or type(size) is not tuple or (sizes is not None and type(sizes) is not tuple):
        return f_default_op(self, dim, start, size, sizes)
    try:
        return f_default_op.composite(self, dim, start, size, sizes)
    except Exception as error:
        raise f_default_op.explained(error, (self, dim, start, size, sizes))


f_default_op = Operator(
    "f(Tensor self, int dim, int? start=None, int[2] size=0, int[]? sizes=None) -> Tensor",
    f_default,
    kernels={"CompositeImplicitAutograd": deferred(small_composite, "counted")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("dim", "int"), ("start", "int?", None), ("size", "int[2]", 0), ("sizes", "int[]?", None)), positional=5),
)
