// PickBackward0 is in Python: it saves a list

// pick(Tensor self, Tensor?[] places, Tensor values) -> Tensor
Ref pick_default_(PyObject* self_, PyObject* places_, PyObject* values_) {
  Ref known;
  if (!(!entries::pick_default_.replaced && is_plain(self_) && is_plain(values_) && all_plain_or_none(places_) && is_not_half(self_))) {
    known = in_other_dtype(entries::pick_default_, entries::pick_default_, self_, places_, values_);
    if (!known) return fall_back(entries::pick_default_, self_, places_, values_);
  }
  Ref places_arrays = array_list(places_);
  if (!places_arrays) return Ref();
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::pick_default_kernel_, array_object(self_), places_arrays.get(), array_object(values_));
  if (!result) return fall_back(entries::pick_default_, self_, places_, values_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && (requires_grad(self_) || requires_grad(values_))) {
    if (!record_in_python(py::record_pick_default_, out.get(), self_, places_, values_)) return Ref();
  }
  return out;
}

// pick_, for pick(Tensor self, Tensor?[] places, Tensor values) -> Tensor
Ref pick__default_(PyObject* self_, PyObject* places_, PyObject* values_) {
  Ref known;
  if (!(!entries::pick__default_.replaced && !(entries::pick_default_.replaced & kByKernel) && is_plain(self_) && is_plain(values_) && all_plain_or_none(places_) && is_not_half(self_))) {
    known = in_other_dtype(entries::pick__default_, entries::pick_default_, self_, places_, values_);
    if (!known) return fall_back(entries::pick__default_, self_, places_, values_);
  }
  const bool recorded = is_recorded(self_, values_) || (grad_enabled && any_requires_grad(places_));
  if (recorded || !can_write(self_, false, values_)) return fall_back(entries::pick__default_, self_, places_, values_);
  Ref places_arrays = array_list(places_);
  if (!places_arrays) return Ref();
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::pick_default_kernel_, array_object(self_), places_arrays.get(), array_object(values_));
  if (!result || !overwrite(self_, result.get())) return fall_back(entries::pick__default_, self_, places_, values_);
  if (!count_write(self_)) return Ref();
  return Ref::borrow(self_);
}
