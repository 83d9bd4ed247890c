// shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor

namespace {

struct ShrinkBackward0 final : Node {
  PyObject* edges[1];
  SavedResult saved_result;
  PyObject* saved_lambd;
  PyObject* saved_mode;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self, PyObject* lambd, PyObject* mode);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool ShrinkBackward0::record(PyObject* out, PyObject* self, PyObject* lambd, PyObject* mode) {
  Node* base = new_node(&ShrinkBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<ShrinkBackward0*>(base);
  set_edge(base, 0, self);
  if (!save(node->saved_result, out)) return false;
  if (!save(node->saved_lambd, lambd)) return false;
  if (!save(node->saved_mode, mode)) return false;
  return true;
}

bool ShrinkBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<ShrinkBackward0*>(base);
  Ref result_ = saved(node, "result", node->saved_result);
  if (!result_) return false;
  Ref lambd = saved(node, "lambd", node->saved_lambd);
  if (!lambd) return false;
  Ref mode = saved(node, "mode", node->saved_mode);
  if (!mode) return false;
  Ref for_self;
#line 14 "derivatives.yaml"
  Ref t1 = times(lambd.get(), py::constant_2);
  if (!t1) return false;
#line 14 "derivatives.yaml"
  Ref t0 = minus(t1.get(), py::constant_1);
  if (!t0) return false;
#line 14 "derivatives.yaml"
  for_self = invoke(py::small_helpers_shrink_backward, grad, result_.get(), t0.get(), mode.get());
  if (!for_self) return false;
  results[0] = gradient(for_self);
  return true;
}

void ShrinkBackward0::release(Node* base, bool all) {
  auto* node = static_cast<ShrinkBackward0*>(base);
  release_all(all, node->saved_result, node->saved_lambd, node->saved_mode);
}

int ShrinkBackward0::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<ShrinkBackward0*>(base);
  return visit_all(visit, arg, node->saved_result, node->saved_lambd, node->saved_mode);
}

PyGetSetDef ShrinkBackward0::properties[] = {
    saved_property<&ShrinkBackward0::saved_result>("_saved_result", "result"),
    saved_property<&ShrinkBackward0::saved_lambd>("_saved_lambd", "lambd"),
    saved_property<&ShrinkBackward0::saved_mode>("_saved_mode", "mode"),
    {},
};

const NodeClass ShrinkBackward0::table = {
    "ShrinkBackward0",
    "shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor",
    "shrink",
    sizeof(ShrinkBackward0),
    1,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// shrink(Tensor self, float lambd=0.5, *, str mode='hard') -> Tensor
Ref shrink_default(PyObject* self, PyObject* lambd, PyObject* mode) {
  if (!(!entries::shrink_default.replaced && is_plain(self) && has_float_dtype(self))) {
    return fall_back(entries::shrink_default, self, lambd, mode);
  }
  Ref result = run_for_array(py::shrink_default_kernel, array_object(self), lambd, mode);
  if (!result) return fall_back(entries::shrink_default, self, lambd, mode);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!ShrinkBackward0::record(out.get(), self, lambd, mode)) return Ref();
  }
  return out;
}
