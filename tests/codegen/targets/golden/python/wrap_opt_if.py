# - func: f(Tensor self, Tensor other) -> Tensor
#   dispatch: {CPU: two}
#
# - name: f(Tensor self, Tensor other) -> Tensor
#   self: of_optional(grad, wrap_opt_if(other, grad_input_mask[0]))
#   other: grad


class FBackward0(RecordedNode):
    """f(Tensor self, Tensor other) -> Tensor"""

    __slots__ = ("_self_edge", "_other_edge", "_other", "_other_version")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge, self._other_edge)

    def apply(self, grad_0):
        try:
            other = self._other
        except AttributeError:
            raise freed_error(self) from None
        if other is not None:
            if other._writes is not None and other._writes[0] != self._other_version:
                raise modified_error(self, "other", other, self._other_version)
            if other._edge is None and self._other_edge is not None:
                check_attached(self, self._other_edge)
        # derivatives.yaml:2  self: of_optional(grad, wrap_opt_if(other, grad_input_mask[0]))
        if self._self_edge is not None:
            mask = (True,)
            self_gradient = small_helpers.of_optional(grad_0, other if mask[0] else None)
        else:
            self_gradient = None
        # derivatives.yaml:3  other: grad
        if self._other_edge is not None:
            other_gradient = grad_0
        else:
            other_gradient = None
        return (self_gradient, other_gradient)

    def release(self):
        try:
            if self._other is not None:
                del self._other
        except AttributeError:
            pass  # another thread was first

    _saved_other = saved_tensor("other")


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
    node._other = other if self_edge is not None else None
    version = other._writes
    node._other_version = 0 if version is None else version[0]
