//lerp.Scalar: elementwise: std::abs(weight) < 0.5 ? self + weight * (end - self) : end - (end - self) * (1 - weight)
template <class S, class R, bool flat>
__global__ void lerp_Scalar_1(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* end, long long end_0, long long end_1, long long end_2, long long end_3,
    Number<S> number_0) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T end_i = Element<S>::load(end[place.at(end_0, end_1, end_2, end_3)]);
    const T step_0 = elements::sub<T>(end_i, self_i);
    const T step_1 = elements::mul<T>(step_0, number_0);
    const T step_2 = elements::add<T>(self_i, step_1);
    out[i] = Element<R>::store(step_2);
  }
}

// lerp.Scalar: elementwise: std::abs(weight) < 0.5 ? self + weight * (end - self) : end - (end - self) * (1 - weight)
template <class S, class R, bool flat>
__global__ void lerp_Scalar_2(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* end, long long end_0, long long end_1, long long end_2, long long end_3,
    Number<S> number_0) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T end_i = Element<S>::load(end[place.at(end_0, end_1, end_2, end_3)]);
    const T step_0 = elements::sub<T>(end_i, self_i);
    const T step_1 = elements::mul<T>(step_0, number_0);
    const T step_2 = elements::sub<T>(end_i, step_1);
    out[i] = Element<R>::store(step_2);
  }
}
