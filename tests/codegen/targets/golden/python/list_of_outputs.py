# - func: f(Tensor self) -> Tensor[]
#   dispatch: {CPU: one}
#
# - name: f(Tensor self) -> Tensor[]
#   self: of_list(grads)


class FBackward0(RecordedNode):
    """f(Tensor self) -> Tensor[]"""

    __slots__ = ("_self_edge",)
    name = "FBackward0"
    operator = "f"
    num_outputs = None

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grads):
        # derivatives.yaml:2  self: of_list(grads)
        self_gradient = small_helpers.of_list(grads)
        return (self_gradient,)


def record_f_default(out, self):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    arrays = [tensor._array for tensor in out]
    node.shape = tuple([array.shape for array in arrays])
    node.dtype = tuple([array.dtype for array in arrays])
    set_edges(out, node)
