// highest(Tensor self, int dim) -> (Tensor values, Tensor indices)

namespace {

struct HighestBackward0 final : Node {
  PyObject* edges[1];
  PyObject* saved_dim;
  SavedResult saved_indices;
  PyObject* saved_self_sym_sizes;

  static const NodeClass table;

  static bool record(PyObject* const* outs, PyObject* self_, PyObject* dim_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool HighestBackward0::record(PyObject* const* outs, PyObject* self_, PyObject* dim_) {
  Node* base = new_node(&HighestBackward0::table, outs[0]);
  if (base == nullptr) return false;
  auto* node = static_cast<HighestBackward0*>(base);
  set_edge(base, 0, self_);
  if (!save(node->saved_dim, dim_)) return false;
  if (!save(node->saved_indices, outs[1])) return false;
  if (!save(node->saved_self_sym_sizes, sizes_of(self_))) return false;
  return true;
}

bool HighestBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<HighestBackward0*>(base);
  Ref dim_ = saved(node, "dim", node->saved_dim);
  if (!dim_) return false;
  Ref indices_ = saved_without_history(node, "indices", node->saved_indices);
  if (!indices_) return false;
  Ref self_sym_sizes_ = saved(node, "self_sym_sizes", node->saved_self_sym_sizes);
  if (!self_sym_sizes_) return false;
  // self: spread_backward(grad, dim, indices, self.sym_sizes())
  Ref self_gradient;
#line 1 "derivatives.yaml#HighestBackward0"
  self_gradient = invoke(py::small_helpers_spread_backward, grad, dim_.get(), indices_.get(), self_sym_sizes_.get());
  if (!self_gradient) return false;
  results[0] = gradient(self_gradient);
  return true;
}

const SavedSlot HighestBackward0_saved[] = {
    {"_saved_dim", offsetof(HighestBackward0, saved_dim), SlotKind::kValue},
    {"_saved_indices", offsetof(HighestBackward0, saved_indices), SlotKind::kResultWithoutHistory},
    {"_saved_self_sym_sizes", offsetof(HighestBackward0, saved_self_sym_sizes), SlotKind::kValue},
};

const NodeClass HighestBackward0::table = {
    "HighestBackward0",
    "HighestBackward0",
    "highest(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    "highest",
    sizeof(HighestBackward0),
    1,
    0,
    apply,
    gradwright::table(HighestBackward0_saved),
};

}  // namespace

// highest(Tensor self, int dim) -> (Tensor values, Tensor indices)
Ref highest_default_(PyObject* self_, PyObject* dim_) {
  Ref known;
  if (!(!entries::highest_default_.replaced && is_plain(self_) && PyLong_CheckExact(dim_) && is_not_half(self_))) {
    known = in_other_dtype(entries::highest_default_, entries::highest_default_, self_, dim_);
    if (!known) return fall_back(entries::highest_default_, self_, dim_);
  }
  Ref result = std::move(known);
  if (!result) result = run(py::highest_default_kernel_, array_object(self_), dim_);
  if (!result) return fall_back(entries::highest_default_, self_, dim_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  if (!has_results(result.get(), 2)) return fall_back(entries::highest_default_, self_, dim_);
  Ref tensors = tensor_list(result.get());
  if (!tensors) return Ref();
  Ref out = invoke(py::highest_default_op_results_, tensors.get());
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!HighestBackward0::record(reinterpret_cast<PyTupleObject*>(out.get())->ob_item, self_, dim_)) return Ref();
  }
  return out;
}
