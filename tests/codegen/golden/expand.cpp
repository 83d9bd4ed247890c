// expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)

namespace {

struct ExpandBackward0 final : Node {
  PyObject* edges[1];

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool ExpandBackward0::record(PyObject* out, PyObject* self) {
  Node* base = new_node(&ExpandBackward0::table, out);
  if (base == nullptr) return false;
  set_edge(base, 0, self);
  return true;
}

bool ExpandBackward0::apply(Node*, PyObject* grad, PyObject** results) {
  Ref for_self;
#line 10 "derivatives.yaml"
  for_self = Ref::borrow(grad);
  results[0] = gradient(for_self);
  return true;
}

const NodeClass ExpandBackward0::table = {
    "ExpandBackward0",
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    "expand",
    sizeof(ExpandBackward0),
    1,
    apply,
    drop_nothing,
    visit_nothing,
    nullptr,
};

}  // namespace

// expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
Ref expand_default(PyObject* self, PyObject* size, PyObject* implicit) {
  if (!(!entries::expand_default.replaced && is_plain(self))) {
    return fall_back(entries::expand_default, self, size, implicit);
  }
  Ref size_ints = int_tuple(size, py::dispatch_runtime_int_tuple, Py_None);
  if (!size_ints) return Ref();
  size = size_ints.get();
  Ref result = run(py::expand_default_kernel, array_object(self), size, implicit);
  if (!result) return fall_back(entries::expand_default, self, size, implicit);
  Ref out = new_view(std::move(result), self);
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!ExpandBackward0::record(out.get(), self)) return Ref();
  }
  return out;
}
