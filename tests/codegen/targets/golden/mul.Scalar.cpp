// mul.Scalar(Tensor self, Scalar other) -> Tensor

namespace {

struct MulBackward1 final : Node {
  PyObject* edges[1];
  PyObject* saved_other;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self_, PyObject* other_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool MulBackward1::record(PyObject* out, PyObject* self_, PyObject* other_) {
  Node* base = new_node(&MulBackward1::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<MulBackward1*>(base);
  set_edge(base, 0, self_);
  if (!save(node->saved_other, other_)) return false;
  return true;
}

extern const FormulaTable MulBackward1_self = formula_table<1, 1, Part<struct kernels::mul, 2, 0, 1>>;

bool MulBackward1::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<MulBackward1*>(base);
  Ref other_ = saved(node, "other", node->saved_other);
  if (!other_) return false;
  // self: grad * other.conj()
  Ref self_gradient;
#line 1 "derivatives.yaml#MulBackward1"
  Ref t0 = conjugate_number(other_.get());
  if (!t0) return false;
  self_gradient = formulas::MulBackward1_self.run(0, grad, t0.get());
  if (!self_gradient) {
    if (PyErr_Occurred()) return false;
#line 1 "derivatives.yaml#MulBackward1"
    Ref t1 = conjugate_number(other_.get());
    if (!t1) return false;
#line 1 "derivatives.yaml#MulBackward1"
    self_gradient = ops::mul_Scalar_(grad, t1.get());
    if (!self_gradient) return false;
  }
  results[0] = gradient(self_gradient);
  return true;
}

const SavedSlot MulBackward1_saved[] = {
    {"_saved_other", offsetof(MulBackward1, saved_other), SlotKind::kValue},
};

const NodeClass MulBackward1::table = {
    "MulBackward1",
    "MulBackward1",
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    "mul.Scalar",
    sizeof(MulBackward1),
    1,
    0,
    apply,
    gradwright::table(MulBackward1_saved),
};

}  // namespace

// mul.Scalar(Tensor self, Scalar other) -> Tensor
Ref mul_Scalar_(PyObject* self_, PyObject* other_) {
  Ref known;
  if (!(!entries::mul_Scalar_.replaced && is_plain(self_) && is_real_number(other_) && goes_with(self_, other_, kReal))) {
    known = in_other_dtype(entries::mul_Scalar_, entries::mul_Scalar_, self_, other_);
    if (!known) return fall_back(entries::mul_Scalar_, self_, other_);
  }
  Ref result = std::move(known);
  if (!result) result = binary_scalar<kernels::mul>(self_, other_);
  if (!result) result = run_for_array(py::mul_Scalar_kernel_, array_object(self_), other_);
  if (!result) return fall_back(entries::mul_Scalar_, self_, other_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!MulBackward1::record(out.get(), self_, other_)) return Ref();
  }
  return out;
}
