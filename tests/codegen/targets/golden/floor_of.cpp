// floor_of(Tensor self) -> Tensor
Ref floor_of_default_(PyObject* self_) {
  Ref known;
  if (!(!entries::floor_of_default_.replaced && is_plain(self_) && is_not_half(self_))) {
    known = in_other_dtype(entries::floor_of_default_, entries::floor_of_default_, self_);
    if (!known) return fall_back(entries::floor_of_default_, self_);
  }
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::floor_of_default_kernel_, array_object(self_));
  if (!result) return fall_back(entries::floor_of_default_, self_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self_)) {
    if (!invoke(py::floor_of_default_op_undifferentiable_, out.get())) return Ref();
  }
  return out;
}

// floor_of_, for floor_of(Tensor self) -> Tensor
Ref floor_of__default_(PyObject* self_) {
  Ref known;
  if (!(!entries::floor_of__default_.replaced && !(entries::floor_of_default_.replaced & kByKernel) && is_plain(self_) && is_not_half(self_))) {
    known = in_other_dtype(entries::floor_of__default_, entries::floor_of_default_, self_);
    if (!known) return fall_back(entries::floor_of__default_, self_);
  }
  const bool recorded = is_recorded(self_);
  if (recorded || !can_write(self_, false)) return fall_back(entries::floor_of__default_, self_);
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::floor_of_default_kernel_, array_object(self_));
  if (!result || !overwrite(self_, result.get())) return fall_back(entries::floor_of__default_, self_);
  if (!count_write(self_)) return Ref();
  return Ref::borrow(self_);
}
