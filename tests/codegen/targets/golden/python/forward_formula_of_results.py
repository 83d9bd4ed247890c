# - func: f(Tensor self) -> (Tensor first, Tensor second)
#   dispatch: {CPU: pair}
#
# - name: f(Tensor self) -> (Tensor first, Tensor second)
#   self: of_two(grads[0], grads[1])
#   first: self_t
#   second: -self_t


class FBackward0(RecordedNode):
    """f(Tensor self) -> (Tensor first, Tensor second)"""

    __slots__ = ("_self_edge",)
    name = "FBackward0"
    operator = "f"
    num_outputs = 2

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grads):
        grad_0, grad_1 = grads
        # derivatives.yaml:2  self: of_two(grads[0], grads[1])
        if grad_0 is not None or grad_1 is not None:
            defined_0 = zeros_for(self, 0) if grad_0 is None else grad_0
            defined_1 = zeros_for(self, 1) if grad_1 is None else grad_1
            self_gradient = small_helpers.of_two(defined_0, defined_1)
        else:
            self_gradient = None
        return (self_gradient,)


def record_f_default(out, self):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    node.shape = (out[0]._array.shape, out[1]._array.shape)
    node.dtype = (out[0]._array.dtype, out[1]._array.dtype)
    set_edges((out[0], out[1]), node)


def jvp_f_default(out, self, self_t):
    # derivatives.yaml:3  first: self_t
    tangent_0 = self_t
    # derivatives.yaml:4  second: -self_t
    tangent_1 = ops.neg_default(self_t)
    return (tangent_0, tangent_1)
