extern const FormulaTable fourth_default_formula = formula_table<1, 1, Part<struct kernels::mul, 2, 0, 1>, Part<struct kernels::neg, 3, 2>>;

// fourth(Tensor self, Scalar by=2, bool negated=False) -> Tensor
Ref fourth_default_(PyObject* self_, PyObject* by_, PyObject* negated_) {
  if (!(!entries::fourth_default_.replaced && is_plain(self_) && PyBool_Check(negated_))) {
    return fall_back(entries::fourth_default_, self_, by_, negated_);
  }
  // composite: negated ? -(self * by) : self * self
  const auto formula = [&]() -> Ref {
    Ref value;
    const int t0 = is_true(negated_);
    if (t0 < 0) return Ref();
    if (t0 > 0) {
      value = formulas::fourth_default_formula.run(-1, self_, by_);
      if (!value) {
        if (PyErr_Occurred()) return Ref();
        Ref t1 = ops::mul_Scalar_(self_, by_);
        if (!t1) return Ref();
        value = ops::neg_default_(t1.get());
        if (!value) return Ref();
      }
    } else {
      value = ops::mul_Tensor_(self_, self_);
      if (!value) return Ref();
    }
    return value;
  };
  Ref out = formula();
  if (out) return of_operators(std::move(out));
  forget_error();
  return fall_back(entries::fourth_default_, self_, by_, negated_);
}
