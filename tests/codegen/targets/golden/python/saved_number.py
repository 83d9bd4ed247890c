# - func: f(Tensor self, Scalar other) -> Tensor
#   dispatch: {CPU: two}
#
# - name: f(Tensor self, Scalar other) -> Tensor
#   self: grad * other.conj()


class FBackward0(RecordedNode):
    """f(Tensor self, Scalar other) -> Tensor"""

    __slots__ = ("_self_edge", "_other")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grad_0):
        try:
            other = self._other
        except AttributeError:
            raise freed_error(self) from None
        # derivatives.yaml:2  self: grad * other.conj()
        self_gradient = ops.mul_Scalar(grad_0, other.conjugate())
        return (self_gradient,)

    _saved_other = saved_value("other")


def record_f_default(out, self, other):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    array = out._array
    node.shape = array.shape
    node.dtype = array.dtype
    out._edge = node
    node._other = other
