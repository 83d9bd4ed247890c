// norm_of(Tensor input, Tensor? weight=None) -> Tensor

namespace {

struct NormOfBackward0 final : Node {
  PyObject* edges[2];
  SavedInput saved_input;
  SavedInput saved_weight;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* input, PyObject* weight);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
  static void release(Node* base, bool all);
  static int traverse(Node* base, visitproc visit, void* arg);
  static PyGetSetDef properties[];
};

bool NormOfBackward0::record(PyObject* out, PyObject* input, PyObject* weight) {
  Node* base = new_node(&NormOfBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<NormOfBackward0*>(base);
  set_edge(base, 0, input);
  set_optional_edge(base, 1, weight);
  if (!save(node->saved_input, input)) return false;
  if (!save_optional(node->saved_weight, weight)) return false;
  return true;
}

bool NormOfBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<NormOfBackward0*>(base);
  Ref input = saved(node, "input", node->saved_input);
  if (!input) return false;
  Ref weight = saved(node, "weight", node->saved_weight);
  if (!weight) return false;
  Ref for_input;
  Ref for_weight;
  Ref mask = make_tuple(boolean(has_edge(node, 0)), boolean(has_edge(node, 1)));
  if (!mask) return false;
#line 18 "derivatives.yaml"
  Ref t0 = invoke(py::small_helpers_both_backward, grad, input.get(), weight.get(), mask.get());
  if (!t0) return false;
  if (!unpack_into(t0.get(), for_input, for_weight)) return false;
  results[0] = gradient(for_input);
  results[1] = gradient(for_weight);
  return true;
}

void NormOfBackward0::release(Node* base, bool all) {
  auto* node = static_cast<NormOfBackward0*>(base);
  release_all(all, node->saved_input, node->saved_weight);
}

int NormOfBackward0::traverse(Node* base, visitproc visit, void* arg) {
  auto* node = static_cast<NormOfBackward0*>(base);
  return visit_all(visit, arg, node->saved_input, node->saved_weight);
}

PyGetSetDef NormOfBackward0::properties[] = {
    saved_property<&NormOfBackward0::saved_input>("_saved_input", "input"),
    saved_property<&NormOfBackward0::saved_weight>("_saved_weight", "weight"),
    {},
};

const NodeClass NormOfBackward0::table = {
    "NormOfBackward0",
    "norm_of(Tensor input, Tensor? weight=None) -> Tensor",
    "norm_of",
    sizeof(NormOfBackward0),
    2,
    apply,
    release,
    traverse,
    properties,
};

}  // namespace

// norm_of(Tensor input, Tensor? weight=None) -> Tensor
Ref norm_of_default(PyObject* input, PyObject* weight) {
  if (!(!entries::norm_of_default.replaced && is_plain(input) && is_plain_or_none(weight) &&
        is_not_half(input))) {
    return fall_back(entries::norm_of_default, input, weight);
  }
  Ref result =
      run_for_array(py::norm_of_default_kernel, array_object(input), array_or_none(weight));
  if (!result) return fall_back(entries::norm_of_default, input, weight);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && (requires_grad(input) || requires_grad_or_none(weight))) {
    if (!NormOfBackward0::record(out.get(), input, weight)) return Ref();
  }
  return out;
}
