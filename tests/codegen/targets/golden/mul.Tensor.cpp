// mul.Tensor(Tensor self, Tensor other) -> Tensor

namespace {

struct MulBackward0 final : Node {
  PyObject* edges[2];
  SavedInput saved_other;
  SavedInput saved_self;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_, PyObject* other_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool MulBackward0::record(PyObject* out, PyObject* self_, PyObject* other_) {
  Node* base = new_node(&MulBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<MulBackward0*>(base);
  set_edge(base, 0, self_);
  set_edge(base, 1, other_);
  if (has_edge(base, 0) && !save(node->saved_other, other_)) return false;
  if (has_edge(base, 1) && !save(node->saved_self, self_)) return false;
  return true;
}

extern const FormulaTable MulBackward0_self = formula_table<2, 0, Part<struct kernels::mul, 2, 0, 1>>;
extern const FormulaTable MulBackward0_other = formula_table<2, 0, Part<struct kernels::mul, 2, 0, 1>>;

bool MulBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<MulBackward0*>(base);
  Ref other_ = saved(node, "other", node->saved_other);
  if (!other_) return false;
  Ref self_ = saved(node, "self", node->saved_self);
  if (!self_) return false;
  InterleavedFormulas interleaved(grad);
  // self: grad * other.conj()
  Ref self_gradient;
  if (has_edge(node, 0)) {
    self_gradient = formulas::MulBackward0_self.run(interleaved, has_edge(node, 1) ? -1 : 0, grad, other_.get());
    if (!self_gradient) {
      if (PyErr_Occurred()) return false;
#line 1 "derivatives.yaml#MulBackward0"
      Ref t0 = conjugate(other_.get(), py::conj_default_);
      if (!t0) return false;
#line 1 "derivatives.yaml#MulBackward0"
      self_gradient = ops::mul_Tensor_(grad, t0.get());
      if (!self_gradient) return false;
    }
  }
  // other: grad * self.conj()
  Ref other_gradient;
  if (has_edge(node, 1)) {
    other_gradient = formulas::MulBackward0_other.run(interleaved, 0, grad, self_.get());
    if (!other_gradient) {
      if (PyErr_Occurred()) return false;
#line 2 "derivatives.yaml#MulBackward0"
      Ref t0 = conjugate(self_.get(), py::conj_default_);
      if (!t0) return false;
#line 2 "derivatives.yaml#MulBackward0"
      other_gradient = ops::mul_Tensor_(grad, t0.get());
      if (!other_gradient) return false;
    }
  }
  interleaved.finish();
  results[0] = gradient(self_gradient);
  results[1] = gradient(other_gradient);
  return true;
}

const SavedSlot MulBackward0_saved[] = {
    {"_saved_other", offsetof(MulBackward0, saved_other), SlotKind::kInput},
    {"_saved_self", offsetof(MulBackward0, saved_self), SlotKind::kInput},
};

const NodeClass MulBackward0::table = {
    "MulBackward0",
    "MulBackward0",
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "mul.Tensor",
    sizeof(MulBackward0),
    2,
    0,
    apply,
    gradwright::table(MulBackward0_saved),
};

}  // namespace

// mul.Tensor(Tensor self, Tensor other) -> Tensor
Ref mul_Tensor_(PyObject* self_, PyObject* other_) {
  Ref known;
  if (!(!entries::mul_Tensor_.replaced && is_plain(self_) && is_plain(other_) && is_not_half(self_) && same_dtype(self_, other_))) {
    known = in_other_dtype(entries::mul_Tensor_, entries::mul_Tensor_, self_, other_);
    if (!known) return fall_back(entries::mul_Tensor_, self_, other_);
  }
  Ref result = std::move(known);
  if (!result) result = binary<kernels::mul>(self_, other_);
  if (!result) result = run_for_array(py::mul_Tensor_kernel_, array_object(self_), array_object(other_));
  if (!result) return fall_back(entries::mul_Tensor_, self_, other_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && (requires_grad(self_) || requires_grad(other_))) {
    if (!MulBackward0::record(out.get(), self_, other_)) return Ref();
  }
  return out;
}

// mul_.Tensor, for mul.Tensor(Tensor self, Tensor other) -> Tensor
Ref mul__Tensor_(PyObject* self_, PyObject* other_) {
  Ref known;
  if (!(!entries::mul__Tensor_.replaced && !(entries::mul_Tensor_.replaced & kByKernel) && is_plain(self_) && is_plain(other_) && is_not_half(self_) && same_dtype(self_, other_))) {
    known = in_other_dtype(entries::mul__Tensor_, entries::mul_Tensor_, self_, other_);
    if (!known) return fall_back(entries::mul__Tensor_, self_, other_);
  }
  const bool recorded = is_recorded(self_, other_);
  if (!can_write(self_, recorded, other_)) return fall_back(entries::mul__Tensor_, self_, other_);
  Ref before = recorded ? before_write(self_, true) : Ref();
  if (recorded && !before) return Ref();
  if (known || !write_binary<kernels::mul>(self_, other_)) {
    Ref result = std::move(known);
    if (!result) result = binary<kernels::mul>(self_, other_);
    if (!result) result = run_for_array(py::mul_Tensor_kernel_, array_object(self_), array_object(other_));
    if (!result || !overwrite(self_, result.get())) return fall_back(entries::mul__Tensor_, self_, other_);
  }
  if (!count_write(self_)) return Ref();
  if (recorded) {
    if (!MulBackward0::record(self_, before.get(), other_)) return Ref();
  }
  return Ref::borrow(self_);
}
