// highest(Tensor self, int dim) -> (Tensor values, Tensor indices)

namespace {

struct HighestBackward0 final : Node {
  PyObject* edges[1];
  PyObject* saved_dim;
  SavedResult saved_indices;
  PyObject* saved_self_sym_sizes;

  static const NodeClass table;

  static bool record(PyObject* const* outs, PyObject* self, PyObject* dim);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool HighestBackward0::record(PyObject* const* outs, PyObject* self, PyObject* dim) {
  Node* base = new_node(&HighestBackward0::table, outs[0]);
  if (base == nullptr) return false;
  auto* node = static_cast<HighestBackward0*>(base);
  set_edge(base, 0, self);
  if (!save(node->saved_dim, dim)) return false;
  if (!save(node->saved_indices, outs[1])) return false;
  if (!save(node->saved_self_sym_sizes, sizes_of(self))) return false;
  return true;
}

bool HighestBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<HighestBackward0*>(base);
  Ref dim = saved(node, "dim", node->saved_dim);
  if (!dim) return false;
  Ref indices = saved_without_history(node, "indices", node->saved_indices);
  if (!indices) return false;
  Ref self_sym_sizes = saved(node, "self_sym_sizes", node->saved_self_sym_sizes);
  if (!self_sym_sizes) return false;
  Ref for_self;
#line 16 "derivatives.yaml"
  for_self = invoke(py::small_helpers_spread_backward, grad, dim.get(), indices.get(),
                    self_sym_sizes.get());
  if (!for_self) return false;
  results[0] = gradient(for_self);
  return true;
}

void HighestBackward0::release(Node* base, bool all) {
  auto* node = static_cast<HighestBackward0*>(base);
  release_all(all, node->saved_dim, node->saved_indices, node->saved_self_sym_sizes);
}

int HighestBackward0::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<HighestBackward0*>(base);
  return visit_all(visit, arg, node->saved_dim, node->saved_indices, node->saved_self_sym_sizes);
}

PyGetSetDef HighestBackward0::properties[] = {
    saved_property<&HighestBackward0::saved_dim>("_saved_dim", "dim"),
    saved_property<&HighestBackward0::saved_indices, false>("_saved_indices", "indices"),
    saved_property<&HighestBackward0::saved_self_sym_sizes>("_saved_self_sym_sizes",
                                                            "self_sym_sizes"),
    {},
};

const NodeClass HighestBackward0::table = {
    "HighestBackward0",
    "highest(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    "highest",
    sizeof(HighestBackward0),
    1,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// highest(Tensor self, int dim) -> (Tensor values, Tensor indices)
Ref highest_default(PyObject* self, PyObject* dim) {
  if (!(!entries::highest_default.replaced && is_plain(self) && is_not_half(self))) {
    return fall_back(entries::highest_default, self, dim);
  }
  Ref result = run(py::highest_default_kernel, array_object(self), dim);
  if (!result) return fall_back(entries::highest_default, self, dim);
  Ref tensors = tensor_list(result.get());
  if (!tensors) return Ref();
  Ref out = invoke(py::highest_default_op_results, tensors.get());
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!HighestBackward0::record(reinterpret_cast<PyTupleObject*>(out.get())->ob_item, self, dim))
      return Ref();
  }
  return out;
}
