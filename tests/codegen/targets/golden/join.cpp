// JoinBackward0 is in Python: one of its inputs is a list

// join(Tensor[] tensors, int dim=0) -> Tensor
Ref join_default_(PyObject* tensors_, PyObject* dim_) {
  Ref known;
  if (!(!entries::join_default_.replaced && all_plain(tensors_) && PyLong_CheckExact(dim_))) {
    known = in_other_dtype(entries::join_default_, entries::join_default_, tensors_, dim_);
    if (!known) return fall_back(entries::join_default_, tensors_, dim_);
  }
  Ref tensors_arrays = array_list(tensors_);
  if (!tensors_arrays) return Ref();
  Ref result = std::move(known);
  if (!result) result = run_for_array(py::join_default_kernel_, tensors_arrays.get(), dim_);
  if (!result) return fall_back(entries::join_default_, tensors_, dim_);
  result = lie_contiguous(std::move(result));
  if (!result) return Ref();
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && any_requires_grad(tensors_)) {
    if (!record_in_python(py::record_join_default_, out.get(), tensors_, dim_)) return Ref();
  }
  return out;
}
