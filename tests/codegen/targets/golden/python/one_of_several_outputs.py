# - func: f(Tensor self) -> (Tensor values, Tensor indices)
#   dispatch: {CPU: pair}
#
# - name: f(Tensor self) -> (Tensor values, Tensor indices)
#   output_differentiability: [True, False]
#   self: of_two(grad, indices)


class FBackward0(RecordedNode):
    """f(Tensor self) -> (Tensor values, Tensor indices)"""

    __slots__ = ("_self_edge", "_indices", "_indices_version", "_indices_at")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grad_0):
        try:
            indices = self._indices
        except AttributeError:
            raise freed_error(self) from None
        indices = unpack_result(self, "indices", indices, self._indices_version, self._indices_at, None)
        # derivatives.yaml:3  self: of_two(grad, indices)
        self_gradient = small_helpers.of_two(grad_0, indices)
        return (self_gradient,)

    def release(self):
        try:
            del self._indices
        except AttributeError:
            pass  # another thread was first

    _saved_indices = saved_result("indices", None)


def record_f_default(out, self):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    array = out[0]._array
    node.shape = array.shape
    node.dtype = array.dtype
    out[0]._edge = node
    node._indices = out[1]._array
    node._indices_version = out[1]._writes = out[1]._writes or [0]
    node._indices_at = node._indices_version[0]
