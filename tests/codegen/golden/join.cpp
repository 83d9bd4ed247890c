// JoinBackward0 is in Python: one of its inputs is a list

// join(Tensor[] tensors, int dim=0) -> Tensor
Ref join_default(PyObject* tensors, PyObject* dim) {
  if (!(!entries::join_default.replaced && all_plain(tensors))) {
    return fall_back(entries::join_default, tensors, dim);
  }
  Ref tensors_arrays = array_list(tensors);
  if (!tensors_arrays) return Ref();
  Ref result = run_for_array(py::join_default_kernel, tensors_arrays.get(), dim);
  if (!result) return fall_back(entries::join_default, tensors, dim);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && any_requires_grad(tensors)) {
    if (!invoke(py::record_join_default, out.get(), tensors, dim)) return Ref();
  }
  return out;
}
