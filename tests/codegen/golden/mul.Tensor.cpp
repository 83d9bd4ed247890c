// mul.Tensor(Tensor self, Tensor other) -> Tensor

namespace {

struct MulBackward0 final : Node {
  PyObject* edges[2];
  SavedInput saved_other;
  SavedInput saved_self;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self, PyObject* other);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool MulBackward0::record(PyObject* out, PyObject* self, PyObject* other) {
  Node* base = new_node(&MulBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<MulBackward0*>(base);
  set_edge(base, 0, self);
  set_edge(base, 1, other);
  if (has_edge(base, 0) && !save(node->saved_other, other)) return false;
  if (has_edge(base, 1) && !save(node->saved_self, self)) return false;
  return true;
}

constexpr Step MulBackward0_self[] = {
    step<struct kernels::mul>(2, 0, 1),
};
constexpr Step MulBackward0_other[] = {
    step<struct kernels::mul>(2, 0, 1),
};

bool MulBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<MulBackward0*>(base);
  Ref other = saved(node, "other", node->saved_other);
  if (!other) return false;
  Ref self = saved(node, "self", node->saved_self);
  if (!self) return false;
  Ref for_self;
  if (has_edge(node, 0)) {
    for_self = fused<2>(MulBackward0_self, has_edge(node, 1) ? -1 : 0, grad, other.get());
    if (!for_self) {
      if (PyErr_Occurred()) return false;
#line 3 "derivatives.yaml"
      Ref t0 = conjugate(other.get(), py::conj_default);
      if (!t0) return false;
#line 3 "derivatives.yaml"
      for_self = ops::mul_Tensor(grad, t0.get());
      if (!for_self) return false;
    }
  }
  Ref for_other;
  if (has_edge(node, 1)) {
    for_other = fused<2>(MulBackward0_other, 0, grad, self.get());
    if (!for_other) {
      if (PyErr_Occurred()) return false;
#line 4 "derivatives.yaml"
      Ref t0 = conjugate(self.get(), py::conj_default);
      if (!t0) return false;
#line 4 "derivatives.yaml"
      for_other = ops::mul_Tensor(grad, t0.get());
      if (!for_other) return false;
    }
  }
  results[0] = gradient(for_self);
  results[1] = gradient(for_other);
  return true;
}

void MulBackward0::release(Node* base, bool all) {
  auto* node = static_cast<MulBackward0*>(base);
  release_all(all, node->saved_other, node->saved_self);
}

int MulBackward0::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<MulBackward0*>(base);
  return visit_all(visit, arg, node->saved_other, node->saved_self);
}

PyGetSetDef MulBackward0::properties[] = {
    saved_property<&MulBackward0::saved_other>("_saved_other", "other"),
    saved_property<&MulBackward0::saved_self>("_saved_self", "self"),
    {},
};

const NodeClass MulBackward0::table = {
    "MulBackward0",
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "mul.Tensor",
    sizeof(MulBackward0),
    2,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// mul.Tensor(Tensor self, Tensor other) -> Tensor
Ref mul_Tensor(PyObject* self, PyObject* other) {
  if (!(!entries::mul_Tensor.replaced && is_plain(self) && is_plain(other) && is_not_half(self) &&
        same_dtype(self, other))) {
    return fall_back(entries::mul_Tensor, self, other);
  }
  Ref result = binary<kernels::mul>(self, other);
  if (!result)
    result = run_for_array(py::mul_Tensor_kernel, array_object(self), array_object(other));
  if (!result) return fall_back(entries::mul_Tensor, self, other);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && (requires_grad(self) || requires_grad(other))) {
    if (!MulBackward0::record(out.get(), self, other)) return Ref();
  }
  return out;
}

// mul_.Tensor, for mul.Tensor(Tensor self, Tensor other) -> Tensor
Ref mul__Tensor(PyObject* self, PyObject* other) {
  if (!(!entries::mul__Tensor.replaced && !(entries::mul_Tensor.replaced & kByKernel) &&
        is_plain(self) && is_plain(other) && is_not_half(self) && same_dtype(self, other))) {
    return fall_back(entries::mul__Tensor, self, other);
  }
  const bool recorded = is_recorded(self, other);
  if (!can_write(self, recorded, other)) return fall_back(entries::mul__Tensor, self, other);
  Ref before = recorded ? before_write(self, true) : Ref();
  if (recorded && !before) return Ref();
  if (!write_binary<kernels::mul>(self, other)) {
    Ref result = binary<kernels::mul>(self, other);
    if (!result)
      result = run_for_array(py::mul_Tensor_kernel, array_object(self), array_object(other));
    if (!result || !overwrite(self, result.get()))
      return fall_back(entries::mul__Tensor, self, other);
  }
  if (!count_write(self)) return Ref();
  if (recorded) {
    if (!MulBackward0::record(self, before.get(), other)) return Ref();
  }
  return Ref::borrow(self);
}
