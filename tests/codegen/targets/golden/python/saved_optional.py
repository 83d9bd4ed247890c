# - func: f(Tensor self, Tensor? weight=None) -> Tensor
#   dispatch: {CPU: three}
#
# - name: f(Tensor self, Tensor? weight=None) -> Tensor
#   self: of_optional(grad, weight)
#   weight: grad


class FBackward0(RecordedNode):
    """f(Tensor self, Tensor? weight=None) -> Tensor"""

    __slots__ = ("_self_edge", "_weight_edge", "_weight", "_weight_version")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge, self._weight_edge)

    def apply(self, grad_0):
        try:
            weight = self._weight
        except AttributeError:
            raise freed_error(self) from None
        if weight is not None:
            if weight._writes is not None and weight._writes[0] != self._weight_version:
                raise modified_error(self, "weight", weight, self._weight_version)
            if weight._edge is None and self._weight_edge is not None:
                check_attached(self, self._weight_edge)
        # derivatives.yaml:2  self: of_optional(grad, weight)
        if self._self_edge is not None:
            self_gradient = small_helpers.of_optional(grad_0, weight)
        else:
            self_gradient = None
        # derivatives.yaml:3  weight: grad
        if self._weight_edge is not None:
            weight_gradient = grad_0
        else:
            weight_gradient = None
        return (self_gradient, weight_gradient)

    def release(self):
        try:
            if self._weight is not None:
                del self._weight
        except AttributeError:
            pass  # another thread was first

    _saved_weight = saved_tensor("weight")


def record_f_default(out, self, weight):
    node = FBackward0()
    self_edge = self._edge
    node._self_edge = self if self_edge is LEAF else self_edge
    weight_edge = None if weight is None else weight._edge
    node._weight_edge = weight if weight_edge is LEAF else weight_edge
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    array = out._array
    node.shape = array.shape
    node.dtype = array.dtype
    out._edge = node
    node._weight = weight if self_edge is not None else None
    version = None if weight is None else weight._writes
    node._weight_version = 0 if version is None else version[0]
