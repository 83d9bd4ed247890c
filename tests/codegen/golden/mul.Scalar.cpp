// mul.Scalar(Tensor self, Scalar other) -> Tensor

namespace {

struct MulBackward1 final : Node {
  PyObject* edges[1];
  PyObject* saved_other;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self, PyObject* other);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool MulBackward1::record(PyObject* out, PyObject* self, PyObject* other) {
  Node* base = new_node(&MulBackward1::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<MulBackward1*>(base);
  set_edge(base, 0, self);
  if (!save(node->saved_other, other)) return false;
  return true;
}

constexpr Step MulBackward1_self[] = {
    step<struct kernels::mul>(2, 0, 1),
};

bool MulBackward1::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<MulBackward1*>(base);
  Ref other = saved(node, "other", node->saved_other);
  if (!other) return false;
  Ref for_self;
#line 6 "derivatives.yaml"
  Ref t0 = conjugate_number(other.get());
  if (!t0) return false;
  for_self = fused<1>(MulBackward1_self, 0, grad, t0.get());
  if (!for_self) {
    if (PyErr_Occurred()) return false;
#line 6 "derivatives.yaml"
    Ref t1 = conjugate_number(other.get());
    if (!t1) return false;
#line 6 "derivatives.yaml"
    for_self = ops::mul_Scalar(grad, t1.get());
    if (!for_self) return false;
  }
  results[0] = gradient(for_self);
  return true;
}

void MulBackward1::release(Node* base, bool all) {
  auto* node = static_cast<MulBackward1*>(base);
  release_all(all, node->saved_other);
}

int MulBackward1::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<MulBackward1*>(base);
  return visit_all(visit, arg, node->saved_other);
}

PyGetSetDef MulBackward1::properties[] = {
    saved_property<&MulBackward1::saved_other>("_saved_other", "other"),
    {},
};

const NodeClass MulBackward1::table = {
    "MulBackward1",
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    "mul.Scalar",
    sizeof(MulBackward1),
    1,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// mul.Scalar(Tensor self, Scalar other) -> Tensor
Ref mul_Scalar(PyObject* self, PyObject* other) {
  if (!(!entries::mul_Scalar.replaced && is_plain(self) && is_real_number(other) &&
        has_float_dtype(self))) {
    return fall_back(entries::mul_Scalar, self, other);
  }
  Ref result = binary_scalar<kernels::mul>(self, other);
  if (!result) result = run_for_array(py::mul_Scalar_kernel, array_object(self), other);
  if (!result) return fall_back(entries::mul_Scalar, self, other);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!MulBackward1::record(out.get(), self, other)) return Ref();
  }
  return out;
}
