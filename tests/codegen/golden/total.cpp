// total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor

namespace {

struct TotalBackward0 final : Node {
  PyObject* edges[1];
  PyObject* saved_keepdim;
  PyObject* saved_self_sym_sizes;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* self, PyObject* keepdim);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool TotalBackward0::record(PyObject* out, PyObject* self, PyObject* keepdim) {
  if (!is_differentiable(out)) return true;
  Node* base = new_node(&TotalBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<TotalBackward0*>(base);
  set_edge(base, 0, self);
  if (!save(node->saved_keepdim, keepdim)) return false;
  if (!save(node->saved_self_sym_sizes, sizes_of(self))) return false;
  return true;
}

bool TotalBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<TotalBackward0*>(base);
  Ref keepdim = saved(node, "keepdim", node->saved_keepdim);
  if (!keepdim) return false;
  Ref self_sym_sizes = saved(node, "self_sym_sizes", node->saved_self_sym_sizes);
  if (!self_sym_sizes) return false;
  Ref for_self;
  const int t0 = is_true(keepdim.get());
  if (t0 < 0) return false;
  if (t0 > 0) {
#line 12 "derivatives.yaml"
    for_self = Ref::borrow(grad);
  } else {
#line 12 "derivatives.yaml"
    for_self = ops::expand_default(grad, self_sym_sizes.get(), Py_True);
    if (!for_self) return false;
  }
  results[0] = gradient(for_self);
  return true;
}

void TotalBackward0::release(Node* base, bool all) {
  auto* node = static_cast<TotalBackward0*>(base);
  release_all(all, node->saved_keepdim, node->saved_self_sym_sizes);
}

int TotalBackward0::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<TotalBackward0*>(base);
  return visit_all(visit, arg, node->saved_keepdim, node->saved_self_sym_sizes);
}

PyGetSetDef TotalBackward0::properties[] = {
    saved_property<&TotalBackward0::saved_keepdim>("_saved_keepdim", "keepdim"),
    saved_property<&TotalBackward0::saved_self_sym_sizes>("_saved_self_sym_sizes",
                                                          "self_sym_sizes"),
    {},
};

const NodeClass TotalBackward0::table = {
    "TotalBackward0",
    "total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "total",
    sizeof(TotalBackward0),
    1,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// total(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
Ref total_default(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype) {
  if (!(!entries::total_default.replaced && is_plain(self) &&
        is_instance_or_none(dtype, py::dtypes_runtime_dtype) && is_not_half(self))) {
    return fall_back(entries::total_default, self, dim, keepdim, dtype);
  }
  Ref dim_ints = int_tuple_or_none(dim, py::dispatch_runtime_int_tuple, py::constant_1);
  if (!dim_ints) return Ref();
  dim = dim_ints.get();
  Ref dtype_numpy = numpy_dtype(dtype);
  if (!dtype_numpy) return Ref();
  Ref result = kernels::total(self, dim, keepdim, dtype_numpy.get());
  if (!result)
    result = run_for_array(py::total_default_kernel, array_object(self), dim, keepdim,
                           dtype_numpy.get());
  if (!result) return fall_back(entries::total_default, self, dim, keepdim, dtype);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!TotalBackward0::record(out.get(), self, keepdim)) return Ref();
  }
  return out;
}
