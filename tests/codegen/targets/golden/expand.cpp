// expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)

namespace {

struct ExpandBackward0 final : Node {
  PyObject* edges[1];

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool ExpandBackward0::record(PyObject* out, PyObject* self_) {
  Node* base = new_node(&ExpandBackward0::table, out);
  if (base == nullptr) return false;
  set_edge(base, 0, self_);
  return true;
}

bool ExpandBackward0::apply(Node*, PyObject* grad, PyObject** results) {
  // self: grad
  Ref self_gradient;
#line 1 "derivatives.yaml#ExpandBackward0"
  self_gradient = Ref::borrow(grad);
  results[0] = gradient(self_gradient);
  return true;
}

const NodeClass ExpandBackward0::table = {
    "ExpandBackward0",
    "ExpandBackward0",
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    "expand",
    sizeof(ExpandBackward0),
    1,
    0,
    apply,
    {},
};

}  // namespace

// expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
Ref expand_default_(PyObject* self_, PyObject* size_, PyObject* implicit_) {
  if (!(!entries::expand_default_.replaced && is_plain(self_) && PyBool_Check(implicit_))) {
    return fall_back(entries::expand_default_, self_, size_, implicit_);
  }
  Ref size_ints = int_tuple(size_, py::guards_call_int_tuple, Py_None);
  if (!size_ints) return Ref();
  size_ = size_ints.get();
  Ref result = run(py::expand_default_kernel_, array_object(self_), size_, implicit_);
  if (!result) return fall_back(entries::expand_default_, self_, size_, implicit_);
  Ref out = new_view(std::move(result), self_);
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!ExpandBackward0::record(out.get(), self_)) return Ref();
  }
  return out;
}
