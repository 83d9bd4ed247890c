// sharpen(Tensor self, Scalar by=1) -> Tensor

namespace {

struct SharpenBackward0 final : Node {
  PyObject* edges[1];
  PyObject* saved_by;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_, PyObject* by_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool SharpenBackward0::record(PyObject* out, PyObject* self_, PyObject* by_) {
  Node* base = new_node(&SharpenBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<SharpenBackward0*>(base);
  set_edge(base, 0, self_);
  if (!save(node->saved_by, by_)) return false;
  return true;
}

bool SharpenBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<SharpenBackward0*>(base);
  Ref by_ = saved(node, "by", node->saved_by);
  if (!by_) return false;
  // self: sharpened(grad, by.conj())
  Ref self_gradient;
#line 1 "derivatives.yaml#SharpenBackward0"
  Ref t0 = conjugate_number(by_.get());
  if (!t0) return false;
#line 1 "derivatives.yaml#SharpenBackward0"
  self_gradient = helpers::sharpened(grad, t0.get());
  if (!self_gradient) return false;
  results[0] = gradient(self_gradient);
  return true;
}

const SavedSlot SharpenBackward0_saved[] = {
    {"_saved_by", offsetof(SharpenBackward0, saved_by), SlotKind::kValue},
};

const NodeClass SharpenBackward0::table = {
    "SharpenBackward0",
    "SharpenBackward0",
    "sharpen(Tensor self, Scalar by=1) -> Tensor",
    "sharpen",
    sizeof(SharpenBackward0),
    1,
    0,
    apply,
    gradwright::table(SharpenBackward0_saved),
};

}  // namespace

// sharpen(Tensor self, Scalar by=1) -> Tensor
Ref sharpen_default_(PyObject* self_, PyObject* by_) {
  Ref known;
  if (!(!entries::sharpen_default_.replaced && is_plain(self_) && is_real_number(by_) && goes_with(self_, by_, kReal))) {
    known = in_other_dtype(entries::sharpen_default_, entries::sharpen_default_, self_, by_);
    if (!known) return fall_back(entries::sharpen_default_, self_, by_);
  }
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::sharpen_default_kernel_, array_object(self_), by_);
  if (!result) return fall_back(entries::sharpen_default_, self_, by_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!SharpenBackward0::record(out.get(), self_, by_)) return Ref();
  }
  return out;
}

// sharpen_, for sharpen(Tensor self, Scalar by=1) -> Tensor
Ref sharpen__default_(PyObject* self_, PyObject* by_) {
  Ref known;
  if (!(!entries::sharpen__default_.replaced && !(entries::sharpen_default_.replaced & kByKernel) && is_plain(self_) && is_real_number(by_) && goes_with(self_, by_, kReal))) {
    known = in_other_dtype(entries::sharpen__default_, entries::sharpen_default_, self_, by_);
    if (!known) return fall_back(entries::sharpen__default_, self_, by_);
  }
  const bool recorded = is_recorded(self_);
  if (!can_write(self_, recorded)) return fall_back(entries::sharpen__default_, self_, by_);
  Ref before = recorded ? before_write(self_, false) : Ref();
  if (recorded && !before) return Ref();
  if (known || !writers::sharpen(self_, by_)) {
    Ref result = std::move(known);
    if (!result) result = run_for_array(py::sharpen_default_kernel_, array_object(self_), by_);
    if (!result || !overwrite(self_, result.get())) return fall_back(entries::sharpen__default_, self_, by_);
  }
  if (!count_write(self_)) return Ref();
  if (recorded) {
    if (!SharpenBackward0::record(self_, before.get(), by_)) return Ref();
  }
  return Ref::borrow(self_);
}
