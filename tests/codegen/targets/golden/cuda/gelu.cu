//gelu: elementwise: approximate == 'none' ? (erf(self * 0.7071067811865476) + 1) * (self * 0.5) : (tanh((self * self * 0.044715 + 1) * self * 0.7978845608028654) + 1) * (self * 0.5)
template <class S, class R, bool flat>
__global__ void gelu_default_1(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T step_0 = elements::mul<T>(self_i, T(0.7071067811865476));
    const T step_1 = elements::erf<T>(step_0);
    const T step_2 = elements::add<T>(step_1, T(1));
    const T step_3 = elements::mul<T>(self_i, T(0.5));
    const T step_4 = elements::mul<T>(step_2, step_3);
    out[i] = Element<R>::store(step_4);
  }
}

// gelu: elementwise: approximate == 'none' ? (erf(self * 0.7071067811865476) + 1) * (self * 0.5) : (tanh((self * self * 0.044715 + 1) * self * 0.7978845608028654) + 1) * (self * 0.5)
template <class S, class R, bool flat>
__global__ void gelu_default_2(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T step_0 = elements::mul<T>(self_i, T(0.5));
    const T step_1 = elements::mul<T>(self_i, self_i);
    const T step_2 = elements::mul<T>(step_1, T(0.044715));
    const T step_3 = elements::add<T>(step_2, T(1));
    const T step_4 = elements::mul<T>(step_3, self_i);
    const T step_5 = elements::mul<T>(step_4, T(0.7978845608028654));
    const T step_6 = elements::tanh<T>(step_5);
    const T step_7 = elements::add<T>(step_6, T(1));
    const T step_8 = elements::mul<T>(step_7, step_0);
    out[i] = Element<R>::store(step_8);
  }
}
