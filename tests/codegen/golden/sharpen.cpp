// sharpen(Tensor self, Scalar by=1) -> Tensor

namespace {

struct SharpenBackward0 final : Node {
  PyObject* edges[1];
  PyObject* saved_by;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self, PyObject* by);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool SharpenBackward0::record(PyObject* out, PyObject* self, PyObject* by) {
  Node* base = new_node(&SharpenBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<SharpenBackward0*>(base);
  set_edge(base, 0, self);
  if (!save(node->saved_by, by)) return false;
  return true;
}

bool SharpenBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<SharpenBackward0*>(base);
  Ref by = saved(node, "by", node->saved_by);
  if (!by) return false;
  Ref for_self;
#line 28 "derivatives.yaml"
  Ref t0 = conjugate_number(by.get());
  if (!t0) return false;
#line 28 "derivatives.yaml"
  for_self = helpers::sharpened(grad, t0.get());
  if (!for_self) return false;
  results[0] = gradient(for_self);
  return true;
}

void SharpenBackward0::release(Node* base, bool all) {
  auto* node = static_cast<SharpenBackward0*>(base);
  release_all(all, node->saved_by);
}

int SharpenBackward0::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<SharpenBackward0*>(base);
  return visit_all(visit, arg, node->saved_by);
}

PyGetSetDef SharpenBackward0::properties[] = {
    saved_property<&SharpenBackward0::saved_by>("_saved_by", "by"),
    {},
};

const NodeClass SharpenBackward0::table = {
    "SharpenBackward0",
    "sharpen(Tensor self, Scalar by=1) -> Tensor",
    "sharpen",
    sizeof(SharpenBackward0),
    1,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// sharpen(Tensor self, Scalar by=1) -> Tensor
Ref sharpen_default(PyObject* self, PyObject* by) {
  if (!(!entries::sharpen_default.replaced && is_plain(self) && is_real_number(by) &&
        has_float_dtype(self))) {
    return fall_back(entries::sharpen_default, self, by);
  }
  Ref result = run_for_array(py::sharpen_default_kernel, array_object(self), by);
  if (!result) return fall_back(entries::sharpen_default, self, by);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!SharpenBackward0::record(out.get(), self, by)) return Ref();
  }
  return out;
}

// sharpen_, for sharpen(Tensor self, Scalar by=1) -> Tensor
Ref sharpen__default(PyObject* self, PyObject* by) {
  if (!(!entries::sharpen__default.replaced && !(entries::sharpen_default.replaced & kByKernel) &&
        is_plain(self) && is_real_number(by) && has_float_dtype(self))) {
    return fall_back(entries::sharpen__default, self, by);
  }
  const bool recorded = is_recorded(self);
  if (!can_write(self, recorded)) return fall_back(entries::sharpen__default, self, by);
  Ref before = recorded ? before_write(self, false) : Ref();
  if (recorded && !before) return Ref();
  if (!writers::sharpen(self, by)) {
    Ref result = run_for_array(py::sharpen_default_kernel, array_object(self), by);
    if (!result || !overwrite(self, result.get()))
      return fall_back(entries::sharpen__default, self, by);
  }
  if (!count_write(self)) return Ref();
  if (recorded) {
    if (!SharpenBackward0::record(self, before.get(), by)) return Ref();
  }
  return Ref::borrow(self);
}
