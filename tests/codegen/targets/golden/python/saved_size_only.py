# - func: f(Tensor self) -> Tensor
#   dispatch: {CPU: one}
#
# - name: f(Tensor self) -> Tensor
#   self: grad.expand(self.sym_sizes())


class FBackward0(RecordedNode):
    """f(Tensor self) -> Tensor"""

    __slots__ = ("_self_edge", "_self_sym_sizes")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grad_0):
        try:
            self_sym_sizes = self._self_sym_sizes
        except AttributeError:
            raise freed_error(self) from None
        # derivatives.yaml:2  self: grad.expand(self.sym_sizes())
        self_gradient = ops.expand_default(grad_0, self_sym_sizes)
        return (self_gradient,)

    _saved_self_sym_sizes = saved_value("self_sym_sizes")


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
    node._self_sym_sizes = self._array.shape
