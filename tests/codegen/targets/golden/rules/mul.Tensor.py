def save_mul_Tensor(out: Array, self: Array, other: Array, *, needs: Sequence[bool] = (True, True)) -> Saved:
    return Saved((other if needs[0] else None, self if needs[1] else None), (spec_of(self), spec_of(other)))


def vjp_mul_Tensor(saved: Saved, grad: Array, needs: Sequence[bool] = (True, True)) -> Gradients:
    """The gradient of self, other."""
    xp = namespace(grad)
    other, self = saved.arrays
    self_spec, other_spec = saved.values
    self_gradient = other_gradient = None
    if needs[0]:
        # derivatives.yaml  self: grad * other.conj()
        self_gradient = as_gradient(xp, grad * conj(xp, other), self_spec)
    if needs[1]:
        # derivatives.yaml  other: grad * self.conj()
        other_gradient = as_gradient(xp, grad * conj(xp, self), other_spec)
    return (self_gradient, other_gradient)


def jvp_mul_Tensor(out: Array, self: Array, other: Array, self_t: Array | None, other_t: Array | None) -> Array | None:
    """The tangent of the result."""
    xp = namespace(self)
    self_t = tangent_of(xp, self_t, self)
    other_t = tangent_of(xp, other_t, other)
    # derivatives.yaml  result: self_t * other_p + other_t * self_p
    return as_tangent(xp, self_t * other + other_t * self, out)
