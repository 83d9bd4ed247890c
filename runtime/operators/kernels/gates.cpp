#include "gates.hpp"

#include <algorithm>

#include "kernels.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

struct gated {
  template <class T, class A = Baseline>
  static T apply(T a, T gate) { return a / vectors::one_plus_exp<A>(-gate); }
};

constexpr char kOddHalves[] = "an array that is not contiguous, or has no halves along this dimension";

}  // namespace

namespace kernels {

// Along the dimension both halves of each part are contiguous.
Ref glu(PyObject* self, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  const int ndim = PyArray_NDIM(array), place = detail::read_dim(dim, ndim);
  const Loop* loop = loop_of<gated>(detail::type_of(array));
  if (loop == nullptr) return declined(kNoLoop);
  if (ndim == 0 || place < 0 || !is_dense(array) || PyArray_DIM(array, place) % 2) return declined(kOddHalves);
  npy_intp dims[detail::kMostDims];
  std::copy_n(PyArray_DIMS(array), ndim, dims);
  dims[place] /= 2;
  Ref out = new_array_of(array, ndim, dims);
  if (!out) return out;
  npy_intp parts = 1, size = 1;
  for (int i = 0; i < ndim; ++i) (i < place ? parts : size) *= dims[i];
  const npy_intp item = PyArray_ITEMSIZE(array), steps[] = {item, item, item};
  char *in = PyArray_BYTES(array), *to = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(out.get()));
  const auto run = [&](npy_intp part, npy_intp begin, npy_intp count) {
    char* args[] = {in + (2 * part * size + begin) * item, in + ((2 * part + 1) * size + begin) * item,
                    to + (part * size + begin) * item};
    loop->function(args, &count, steps, loop->data);
  };
  const auto held = hold(array);
  ReleaseGil without_gil(parts * size >= kGrain);
  // Of all elements of the result, so that one large part has several threads, too.
  parallel_for(parts * size, kGrain / 8, [&](npy_intp begin, npy_intp end) {
    while (begin < end) {
      const npy_intp first = begin % size, count = std::min(size - first, end - begin);
      run(begin / size, first, count);
      begin += count;
    }
  });
  return out;
}

}  // namespace kernels

}  // namespace gradwright
