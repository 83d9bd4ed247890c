# - func: f(Tensor self) -> Tensor
#   dispatch: {CPU: one}
#
# - name: f(Tensor self) -> Tensor
#   self: grad


class FBackward0(RecordedNode):
    """f(Tensor self) -> Tensor"""

    __slots__ = ("_self_edge",)
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grad_0):
        # derivatives.yaml:2  self: grad
        self_gradient = grad_0
        return (self_gradient,)


def record_f_default(out, self):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    array = out._array
    node.shape = array.shape
    node.dtype = array.dtype
    out._edge = node
