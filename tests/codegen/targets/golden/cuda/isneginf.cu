//isneginf: elementwise: self == -INFINITY
template <class S, class R, bool flat>
__global__ void isneginf_default(
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
    const bool step_0 = elements::eq<T>(self_i, -T(elements::infinity()));
    out[i] = Element<R>::store(step_0);
  }
}
