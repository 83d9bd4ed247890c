//addcmul: elementwise: self + tensor1 * tensor2 * value
template <class S, class R, bool flat>
__global__ void addcmul_default(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* tensor1, long long tensor1_0, long long tensor1_1, long long tensor1_2, long long tensor1_3,
    const S* tensor2, long long tensor2_0, long long tensor2_1, long long tensor2_2, long long tensor2_3,
    Number<S> number_0) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T tensor1_i = Element<S>::load(tensor1[place.at(tensor1_0, tensor1_1, tensor1_2, tensor1_3)]);
    const T tensor2_i = Element<S>::load(tensor2[place.at(tensor2_0, tensor2_1, tensor2_2, tensor2_3)]);
    const T step_0 = elements::mul<T>(tensor1_i, tensor2_i);
    const T step_1 = elements::mul<T>(step_0, number_0);
    const T step_2 = elements::add<T>(self_i, step_1);
    out[i] = Element<R>::store(step_2);
  }
}
