// floor_of(Tensor self) -> Tensor
Ref floor_of_default(PyObject* self) {
  if (!(!entries::floor_of_default.replaced && is_plain(self) && is_not_half(self))) {
    return fall_back(entries::floor_of_default, self);
  }
  Ref result = run_for_array(py::floor_of_default_kernel, array_object(self));
  if (!result) return fall_back(entries::floor_of_default, self);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && requires_grad(self)) {
    if (!invoke(py::floor_of_default_op_undifferentiable, out.get())) return Ref();
  }
  return out;
}

// floor_of_, for floor_of(Tensor self) -> Tensor
Ref floor_of__default(PyObject* self) {
  if (!(!entries::floor_of__default.replaced && !(entries::floor_of_default.replaced & kByKernel) &&
        is_plain(self) && is_not_half(self))) {
    return fall_back(entries::floor_of__default, self);
  }
  const bool recorded = is_recorded(self);
  if (recorded || !can_write(self, false)) return fall_back(entries::floor_of__default, self);
  Ref result = run_for_array(py::floor_of_default_kernel, array_object(self));
  if (!result || !overwrite(self, result.get())) return fall_back(entries::floor_of__default, self);
  if (!count_write(self)) return Ref();
  return Ref::borrow(self);
}
