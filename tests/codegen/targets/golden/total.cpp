// total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor

namespace {

struct TotalBackward0 final : Node {
  PyObject* edges[1];
  PyObject* saved_keepdim;
  PyObject* saved_self_sym_sizes;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_, PyObject* keepdim_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool TotalBackward0::record(PyObject* out, PyObject* self_, PyObject* keepdim_) {
  if (!is_differentiable(out)) return true;
  Node* base = new_node(&TotalBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<TotalBackward0*>(base);
  set_edge(base, 0, self_);
  if (!save(node->saved_keepdim, keepdim_)) return false;
  if (!save(node->saved_self_sym_sizes, sizes_of(self_))) return false;
  return true;
}

bool TotalBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<TotalBackward0*>(base);
  Ref keepdim_ = saved(node, "keepdim", node->saved_keepdim);
  if (!keepdim_) return false;
  Ref self_sym_sizes_ = saved(node, "self_sym_sizes", node->saved_self_sym_sizes);
  if (!self_sym_sizes_) return false;
  // self: keepdim ? grad : grad.expand(self.sym_sizes(), true)
  Ref self_gradient;
  const int t0 = is_true(keepdim_.get());
  if (t0 < 0) return false;
  if (t0 > 0) {
#line 1 "derivatives.yaml#TotalBackward0"
    self_gradient = Ref::borrow(grad);
  } else {
#line 1 "derivatives.yaml#TotalBackward0"
    self_gradient = ops::expand_default_(grad, self_sym_sizes_.get(), Py_True);
    if (!self_gradient) return false;
  }
  results[0] = gradient(self_gradient);
  return true;
}

const SavedSlot TotalBackward0_saved[] = {
    {"_saved_keepdim", offsetof(TotalBackward0, saved_keepdim), SlotKind::kValue},
    {"_saved_self_sym_sizes", offsetof(TotalBackward0, saved_self_sym_sizes), SlotKind::kValue},
};

const NodeClass TotalBackward0::table = {
    "TotalBackward0",
    "TotalBackward0",
    "total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "total",
    sizeof(TotalBackward0),
    1,
    0,
    apply,
    gradwright::table(TotalBackward0_saved),
};

}  // namespace

// total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
Ref total_default_(PyObject* self_, PyObject* dim_, PyObject* keepdim_, PyObject* dtype_) {
  Ref known;
  if (!(!entries::total_default_.replaced && is_plain(self_) && is_instance_or_none(dtype_, py::dtypes_base_dtype) && PyBool_Check(keepdim_) && is_not_half(self_))) {
    known = in_other_dtype(entries::total_default_, entries::total_default_, self_, dim_, keepdim_, dtype_);
    if (!known) return fall_back(entries::total_default_, self_, dim_, keepdim_, dtype_);
  }
  Ref dim_ints = int_tuple_or_none(dim_, py::guards_call_int_tuple, py::constant_1);
  if (!dim_ints) return Ref();
  dim_ = dim_ints.get();
  Ref dtype_numpy = numpy_dtype(dtype_);
  if (!dtype_numpy) return Ref();
  Ref result = std::move(known);
  if (!result) result = kernels::total(self_, dim_, keepdim_, dtype_numpy.get());
  if (!result) result = run_for_array(py::total_default_kernel_, array_object(self_), dim_, keepdim_, dtype_numpy.get());
  if (!result) return fall_back(entries::total_default_, self_, dim_, keepdim_, dtype_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!TotalBackward0::record(out.get(), self_, keepdim_)) return Ref();
  }
  return out;
}
