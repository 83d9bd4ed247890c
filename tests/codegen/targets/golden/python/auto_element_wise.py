# - func: f(Tensor self) -> Tensor
#   dispatch: {CPU: one}
#   tags: pointwise
#
# - name: f(Tensor self) -> Tensor
#   self: grad * self.conj()
#   result: auto_element_wise


class FBackward0(RecordedNode):
    """f(Tensor self) -> Tensor"""

    __slots__ = ("_self_edge", "_self", "_self_version")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (self._self_edge,)

    def apply(self, grad_0):
        try:
            self_ = self._self
        except AttributeError:
            raise freed_error(self) from None
        if self_ is not None:
            if self_._writes is not None and self_._writes[0] != self._self_version:
                raise modified_error(self, "self", self_, self._self_version)
            if self_._edge is None and self._self_edge is not None:
                check_attached(self, self._self_edge)
        # derivatives.yaml:2  self: grad * self.conj()
        self_gradient = ops.mul_Tensor(grad_0, self_ if self_._array.dtype.kind not in "cV" else ops.conj_default(self_))
        return (self_gradient,)

    def release(self):
        try:
            del self._self
        except AttributeError:
            pass  # another thread was first

    _saved_self = saved_tensor("self")


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
    node._self = self
    version = self._writes
    node._self_version = 0 if version is None else version[0]


def jvp_f_default(out, self, self_t):
    # derivatives.yaml:3  result: auto_element_wise
    return ops.conj_default(ops.mul_Tensor(self_t if self_t._array.dtype.kind not in "cV" else ops.conj_default(self_t), self if self._array.dtype.kind not in "cV" else ops.conj_default(self)))
