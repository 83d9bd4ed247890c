// hidden(Tensor self) -> Tensor

namespace {

struct HiddenBackward0 final : Node {
  PyObject* edges[1];

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool HiddenBackward0::record(PyObject* out, PyObject* self) {
  Node* base = new_node(&HiddenBackward0::table, out);
  if (base == nullptr) return false;
  set_edge(base, 0, self);
  return true;
}

bool HiddenBackward0::apply(Node* base, PyObject*, PyObject**) {
  auto* node = static_cast<HiddenBackward0*>(base);
  return raise_not_implemented(node, py::not_implemented_error, "self", "hidden away");
}

const NodeClass HiddenBackward0::table = {
    "HiddenBackward0",
    "hidden(Tensor self) -> Tensor",
    "hidden",
    sizeof(HiddenBackward0),
    1,
    apply,
    drop_nothing,
    visit_nothing,
    nullptr,
};

}  // namespace

// hidden(Tensor self) -> Tensor
Ref hidden_default(PyObject* self) {
  if (!(!entries::hidden_default.replaced && is_plain(self) && is_not_half(self))) {
    return fall_back(entries::hidden_default, self);
  }
  Ref result = run_for_array(py::hidden_default_kernel, array_object(self));
  if (!result) return fall_back(entries::hidden_default, self);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!HiddenBackward0::record(out.get(), self)) return Ref();
  }
  return out;
}
