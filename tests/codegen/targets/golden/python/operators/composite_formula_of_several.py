# - func: f(Tensor self, int[1]? dim=None) -> (Tensor first, Tensor second)
#   composite: "{dim.has_value() ? self * self : self, self}"


def composite_f_default(self, dim=None):
    # native_functions.yaml:20  composite: {dim.has_value() ? self * self : self, self}
    return f_default_op.results((ops.mul_Tensor(self, self) if (dim is not None) else self, self))


def f_default(self, dim=None):
    """f(Tensor self, int[1]? dim=None) -> (Tensor first, Tensor second)"""
    if dim is not None and type(dim) is not tuple:
        dim = int_tuple(dim, 1)
    if dim is not None and type(dim) is not tuple:
        return f_default_op(self, dim)
    try:
        return f_default_op.counted(f_default_op.composite(self, dim))
    except Exception as error:
        raise f_default_op.explained(error, (self, dim))


f_default_op = Operator(
    "f(Tensor self, int[1]? dim=None) -> (Tensor first, Tensor second)",
    f_default,
    kernels={"CompositeImplicitAutograd": composite_f_default},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("dim", "int[1]?", None)), positional=2, results=("Tensor", "Tensor"), result_names=("first", "second")),
)
