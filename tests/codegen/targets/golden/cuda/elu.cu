//elu: elementwise: self <= 0 ? expm1(self * input_scale) * (alpha * scale) : self * scale
template <class S, class R, bool flat>
__global__ void elu_default(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    Number<S> number_0,
    Number<S> number_1,
    Number<S> number_2) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const bool step_0 = elements::le<T>(self_i, T(0));
    const T step_1 = elements::mul<T>(self_i, number_0);
    const T step_2 = elements::expm1<T>(step_1);
    const T step_3 = elements::mul<T>(step_2, number_1);
    const T step_4 = elements::mul<T>(self_i, number_2);
    const T step_5 = elements::where<T>(step_0, step_3, step_4);
    out[i] = Element<R>::store(step_5);
  }
}
