//clamp.Tensor: elementwise: max.has_value() ? minimum(min.has_value() ? maximum(self, min.value()) : self, max.value()) : (min.has_value() ? maximum(self, min.value()) : self)
template <class S, class R, bool flat>
__global__ void clamp_Tensor_1_1(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* min, long long min_0, long long min_1, long long min_2, long long min_3,
    const S* max, long long max_0, long long max_1, long long max_2, long long max_3) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T min_i = Element<S>::load(min[place.at(min_0, min_1, min_2, min_3)]);
    const T max_i = Element<S>::load(max[place.at(max_0, max_1, max_2, max_3)]);
    const T step_0 = elements::maximum<T>(self_i, min_i);
    const T step_1 = elements::minimum<T>(step_0, max_i);
    out[i] = Element<R>::store(step_1);
  }
}

// clamp.Tensor: elementwise: max.has_value() ? minimum(min.has_value() ? maximum(self, min.value()) : self, max.value()) : (min.has_value() ? maximum(self, min.value()) : self)
template <class S, class R, bool flat>
__global__ void clamp_Tensor_1_2(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* max, long long max_0, long long max_1, long long max_2, long long max_3) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T max_i = Element<S>::load(max[place.at(max_0, max_1, max_2, max_3)]);
    const T step_0 = elements::minimum<T>(self_i, max_i);
    out[i] = Element<R>::store(step_0);
  }
}

// clamp.Tensor: elementwise: max.has_value() ? minimum(min.has_value() ? maximum(self, min.value()) : self, max.value()) : (min.has_value() ? maximum(self, min.value()) : self)
template <class S, class R, bool flat>
__global__ void clamp_Tensor_2_1(
    long long size,
    long long n1,
    long long n2,
    long long n3,
    R* out,
    const S* self, long long self_0, long long self_1, long long self_2, long long self_3,
    const S* min, long long min_0, long long min_1, long long min_2, long long min_3) {
  using T = Number<S>;
  const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long far = gridDim.x * (long long)blockDim.x;
  for (long long i = first; i < size; i += far) {
    const Place<flat> place(i, n1, n2, n3);
    const T self_i = Element<S>::load(self[place.at(self_0, self_1, self_2, self_3)]);
    const T min_i = Element<S>::load(min[place.at(min_0, min_1, min_2, min_3)]);
    const T step_0 = elements::maximum<T>(self_i, min_i);
    out[i] = Element<R>::store(step_0);
  }
}
