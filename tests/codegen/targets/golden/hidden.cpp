// hidden(Tensor self) -> Tensor

namespace {

struct HiddenBackward0 final : Node {
  PyObject* edges[1];

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool HiddenBackward0::record(PyObject* out, PyObject* self_) {
  Node* base = new_node(&HiddenBackward0::table, out);
  if (base == nullptr) return false;
  set_edge(base, 0, self_);
  return true;
}

bool HiddenBackward0::apply(Node* base, PyObject*, PyObject**) {
  auto* node = static_cast<HiddenBackward0*>(base);
  // self: not_implemented("hidden away")
  return raise_not_implemented(node, py::not_implemented_error, "self", "hidden away");
}

const NodeClass HiddenBackward0::table = {
    "HiddenBackward0",
    "HiddenBackward0",
    "hidden(Tensor self) -> Tensor",
    "hidden",
    sizeof(HiddenBackward0),
    1,
    0,
    apply,
    {},
};

}  // namespace

// hidden(Tensor self) -> Tensor
Ref hidden_default_(PyObject* self_) {
  Ref known;
  if (!(!entries::hidden_default_.replaced && is_plain(self_) && is_not_half(self_))) {
    known = in_other_dtype(entries::hidden_default_, entries::hidden_default_, self_);
    if (!known) return fall_back(entries::hidden_default_, self_);
  }
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::hidden_default_kernel_, array_object(self_));
  if (!result) return fall_back(entries::hidden_default_, self_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!HiddenBackward0::record(out.get(), self_)) return Ref();
  }
  return out;
}
