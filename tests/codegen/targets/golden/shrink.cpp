// shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor

namespace {

struct ShrinkBackward0 final : Node {
  PyObject* edges[1];
  SavedResult saved_result;
  PyObject* saved_lambd;
  PyObject* saved_mode;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_, PyObject* lambd_, PyObject* mode_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool ShrinkBackward0::record(PyObject* out, PyObject* self_, PyObject* lambd_, PyObject* mode_) {
  Node* base = new_node(&ShrinkBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<ShrinkBackward0*>(base);
  set_edge(base, 0, self_);
  if (!save(node->saved_result, out)) return false;
  if (!save(node->saved_lambd, lambd_)) return false;
  if (!save(node->saved_mode, mode_)) return false;
  return true;
}

bool ShrinkBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<ShrinkBackward0*>(base);
  Ref result_ = saved(node, "result", node->saved_result);
  if (!result_) return false;
  Ref lambd_ = saved(node, "lambd", node->saved_lambd);
  if (!lambd_) return false;
  Ref mode_ = saved(node, "mode", node->saved_mode);
  if (!mode_) return false;
  // self: shrink_backward(grad, result, lambd * 2 - 1, mode)
  Ref self_gradient;
#line 1 "derivatives.yaml#ShrinkBackward0"
  Ref t1 = times(lambd_.get(), py::constant_2);
  if (!t1) return false;
#line 1 "derivatives.yaml#ShrinkBackward0"
  Ref t0 = minus(t1.get(), py::constant_1);
  if (!t0) return false;
#line 1 "derivatives.yaml#ShrinkBackward0"
  self_gradient = invoke(py::small_helpers_shrink_backward, grad, result_.get(), t0.get(), mode_.get());
  if (!self_gradient) return false;
  results[0] = gradient(self_gradient);
  return true;
}

const SavedSlot ShrinkBackward0_saved[] = {
    {"_saved_result", offsetof(ShrinkBackward0, saved_result), SlotKind::kResult},
    {"_saved_lambd", offsetof(ShrinkBackward0, saved_lambd), SlotKind::kValue},
    {"_saved_mode", offsetof(ShrinkBackward0, saved_mode), SlotKind::kValue},
};

const NodeClass ShrinkBackward0::table = {
    "ShrinkBackward0",
    "ShrinkBackward0",
    "shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor",
    "shrink",
    sizeof(ShrinkBackward0),
    1,
    0,
    apply,
    gradwright::table(ShrinkBackward0_saved),
};

}  // namespace

// shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor
Ref shrink_default_(PyObject* self_, PyObject* lambd_, PyObject* mode_) {
  Ref known;
  if (!(!entries::shrink_default_.replaced && is_plain(self_) && has_float_dtype(self_))) {
    known = in_other_dtype(entries::shrink_default_, entries::shrink_default_, self_, lambd_, mode_);
    if (!known) return fall_back(entries::shrink_default_, self_, lambd_, mode_);
  }
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::shrink_default_kernel_, array_object(self_), lambd_, mode_);
  if (!result) return fall_back(entries::shrink_default_, self_, lambd_, mode_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!ShrinkBackward0::record(out.get(), self_, lambd_, mode_)) return Ref();
  }
  return out;
}
