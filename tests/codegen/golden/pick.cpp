// PickBackward0 is in Python: it saves a list

// pick(Tensor self, Tensor?[] places, Tensor values) -> Tensor
Ref pick_default(PyObject* self, PyObject* places, PyObject* values) {
  if (!(!entries::pick_default.replaced && is_plain(self) && is_plain(values) &&
        all_plain_or_none(places) && is_not_half(self))) {
    return fall_back(entries::pick_default, self, places, values);
  }
  Ref places_arrays = array_list(places);
  if (!places_arrays) return Ref();
  Ref result = run_for_array(py::pick_default_kernel, array_object(self), places_arrays.get(),
                             array_object(values));
  if (!result) return fall_back(entries::pick_default, self, places, values);
  Ref out = new_tensor(std::move(result));
  if (!out) return Ref();
  if (grad_enabled && (requires_grad(self) || requires_grad(values))) {
    if (!invoke(py::record_pick_default, out.get(), self, places, values)) return Ref();
  }
  return out;
}

// pick_, for pick(Tensor self, Tensor?[] places, Tensor values) -> Tensor
Ref pick__default(PyObject* self, PyObject* places, PyObject* values) {
  if (!(!entries::pick__default.replaced && !(entries::pick_default.replaced & kByKernel) &&
        is_plain(self) && is_plain(values) && all_plain_or_none(places) && is_not_half(self))) {
    return fall_back(entries::pick__default, self, places, values);
  }
  const bool recorded = is_recorded(self, values) || (grad_enabled && any_requires_grad(places));
  if (recorded || !can_write(self, false))
    return fall_back(entries::pick__default, self, places, values);
  Ref places_arrays = array_list(places);
  if (!places_arrays) return Ref();
  Ref result = run_for_array(py::pick_default_kernel, array_object(self), places_arrays.get(),
                             array_object(values));
  if (!result || !overwrite(self, result.get()))
    return fall_back(entries::pick__default, self, places, values);
  if (!count_write(self)) return Ref();
  return Ref::borrow(self);
}
