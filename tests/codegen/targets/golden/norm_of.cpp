// norm_of(Tensor input, Tensor? weight=None) -> Tensor

namespace {

struct NormOfBackward0 final : Node {
  PyObject* edges[2];
  SavedInput saved_input;
  SavedInput saved_weight;

  static const NodeClass table;

  static bool record(PyObject* out, PyObject* input_, PyObject* weight_);
  static bool apply(Node* base, PyObject* grad, PyObject** results);
};

bool NormOfBackward0::record(PyObject* out, PyObject* input_, PyObject* weight_) {
  Node* base = new_node(&NormOfBackward0::table, out);
  if (base == nullptr) return false;
  auto* node = static_cast<NormOfBackward0*>(base);
  set_edge(base, 0, input_);
  set_optional_edge(base, 1, weight_);
  if (!save(node->saved_input, input_)) return false;
  if (!save_optional(node->saved_weight, weight_)) return false;
  return true;
}

bool NormOfBackward0::apply(Node* base, PyObject* grad, PyObject** results) {
  auto* node = static_cast<NormOfBackward0*>(base);
  Ref input_ = saved(node, "input", node->saved_input);
  if (!input_) return false;
  Ref weight_ = saved(node, "weight", node->saved_weight);
  if (!weight_) return false;
  // input, weight: both_backward(grad, input, weight, grad_input_mask)
  Ref input_gradient;
  Ref weight_gradient;
  Ref mask = make_tuple(boolean(has_edge(node, 0)), boolean(has_edge(node, 1)));
  if (!mask) return false;
#line 1 "derivatives.yaml#NormOfBackward0"
  Ref t0 = invoke(py::small_helpers_both_backward, grad, input_.get(), weight_.get(), mask.get());
  if (!t0) return false;
  if (!unpack_into(t0.get(), input_gradient, weight_gradient)) return false;
  results[0] = gradient(input_gradient);
  results[1] = gradient(weight_gradient);
  return true;
}

const SavedSlot NormOfBackward0_saved[] = {
    {"_saved_input", offsetof(NormOfBackward0, saved_input), SlotKind::kInput},
    {"_saved_weight", offsetof(NormOfBackward0, saved_weight), SlotKind::kInput},
};

const NodeClass NormOfBackward0::table = {
    "NormOfBackward0",
    "NormOfBackward0",
    "norm_of(Tensor input, Tensor? weight=None) -> Tensor",
    "norm_of",
    sizeof(NormOfBackward0),
    2,
    0,
    apply,
    gradwright::table(NormOfBackward0_saved),
};

}  // namespace

// norm_of(Tensor input, Tensor? weight=None) -> Tensor
Ref norm_of_default_(PyObject* input_, PyObject* weight_) {
  Ref known;
  if (!(!entries::norm_of_default_.replaced && is_plain(input_) && is_plain_or_none(weight_) && is_not_half(input_))) {
    known = in_other_dtype(entries::norm_of_default_, entries::norm_of_default_, input_, weight_);
    if (!known) return fall_back(entries::norm_of_default_, input_, weight_);
  }
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::norm_of_default_kernel_, array_object(input_), array_or_none(weight_));
  if (!result) return fall_back(entries::norm_of_default_, input_, weight_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && (requires_grad(input_) || requires_grad_or_none(weight_))) {
    if (!NormOfBackward0::record(out.get(), input_, weight_)) return Ref();
  }
  return out;
}
