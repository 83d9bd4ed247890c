# - func: f(Tensor self) -> Tensor
#   dispatch: {CPU: one}
#
# - name: f(Tensor self) -> Tensor
#   self: of_result(grad, result, retain_variables)


class FBackward0(RecordedNode):
    """f(Tensor self) -> Tensor"""

    __slots__ = ("_self_edge", "_result", "_result_version", "_result_at")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grad_0):
        try:
            result_ = self._result
        except AttributeError:
            raise freed_error(self) from None
        result_ = unpack_result(self, "result", result_, self._result_version, self._result_at, 0)
        # derivatives.yaml:2  self: of_result(grad, result, retain_variables)
        self_gradient = small_helpers.of_result(grad_0, result_, True)
        return (self_gradient,)

    def release(self):
        try:
            del self._result
        except AttributeError:
            pass  # another thread was first

    _saved_result = saved_result("result", 0)


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
    node._result = out._array
    node._result_version = out._writes = out._writes or [0]
    node._result_at = node._result_version[0]
