# - func: f(Tensor[] tensors) -> Tensor
#   dispatch: {CPU: listed}
#
# - name: f(Tensor[] tensors) -> Tensor
#   tensors: grad * tensors[i]


class FBackward0(RecordedNode):
    """f(Tensor[] tensors) -> Tensor"""

    __slots__ = ("_tensors_edges", "_tensors", "_tensors_version")
    name = "FBackward0"
    operator = "f"
    num_outputs = 1

    @property
    def edges(self):
        return (*self._tensors_edges,)

    def apply(self, grad_0):
        try:
            tensors = self._tensors
        except AttributeError:
            raise freed_error(self) from None
        check_versions(self, "tensors", tensors, self._tensors_version)
        # derivatives.yaml:2  tensors: grad * tensors[i]
        tensors_gradient = [None if each is None else ops.mul_Tensor(grad_0, tensors[i]) for i, each in enumerate(tensors)]
        return (*tensors_gradient,)

    def release(self):
        try:
            del self._tensors
        except AttributeError:
            pass  # another thread was first

    _saved_tensors = saved_list("tensors")


def record_f_default(out, tensors):
    node = FBackward0()
    tensors_edges = [None if t is None else t if t._edge is LEAF else t._edge for t in tensors or ()]
    node._tensors_edges = tuple(tensors_edges)
    node.sequence_nr = next_sequence_nr()
    node._extra = None
    array = out._array
    node.shape = array.shape
    node.dtype = array.dtype
    out._edge = node
    node._tensors = tuple(tensors)
    node._tensors_version = versions_of(tensors)
