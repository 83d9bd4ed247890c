# - func: f(Tensor self, Tensor other) -> Tensor
#   dispatch: {CPU: two}
#
# - name: f(Tensor self, Tensor other) -> Tensor
#   self: grad
#   other: not_implemented("nobody wrote it")


class FBackward0(RecordedNode):
    """f(Tensor self, Tensor other) -> Tensor"""

    __slots__ = ("_self_edge", "_other_edge")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge, self._other_edge)

    def apply(self, grad_0):
        # derivatives.yaml:2  self: grad
        if self._self_edge is not None:
            self_gradient = grad_0
        else:
            self_gradient = None
        # derivatives.yaml:3  other: not_implemented("nobody wrote it")
        if self._other_edge is not None:
            raise not_implemented_error(self, "other", "nobody wrote it")
        else:
            other_gradient = None
        return (self_gradient, other_gradient)


def record_f_default(out, self, other):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    other_edge = other._edge
    node._other_edge = other if other_edge is LEAF else other_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    array = out._array
    node.shape = array.shape
    node.dtype = array.dtype
    out._edge = node
