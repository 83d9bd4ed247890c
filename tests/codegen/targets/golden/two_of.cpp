// two_of(Tensor self) -> (Tensor first, Tensor second)
Ref two_of_default_(PyObject* self_) {
  if (!(!entries::two_of_default_.replaced && is_plain(self_))) {
    return fall_back(entries::two_of_default_, self_);
  }
  // composite: {-self, self}
  const auto formula = [&]() -> Ref {
    Ref t0 = ops::neg_default_(self_);
    if (!t0) return Ref();
    Ref value = make_tuple(t0.get(), self_);
    if (!value) return Ref();
    return invoke(py::two_of_default_op_results_, value.get());
  };
  Ref out = formula();
  if (out) return of_operators(std::move(out));
  forget_error();
  return fall_back(entries::two_of_default_, self_);
}
