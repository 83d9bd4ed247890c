//heaviside: elementwise: self == 0 ? values : self > 0
template <class S, class R, bool flat>
__global__ void heaviside_default(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* values, long long values_0, long long values_1, long long values_2, long long values_3) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T values_i = Element<S>::load(values[place.at(values_0, values_1, values_2, values_3)]);
    const bool step_0 = elements::eq<T>(self_i, T(0));
    const bool step_1 = elements::gt<T>(self_i, T(0));
    const T step_2 = elements::where<T>(step_0, values_i, step_1);
    out[i] = Element<R>::store(step_2);
  }
}
