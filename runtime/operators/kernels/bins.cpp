#include "bins.hpp"

#include <algorithm>

#include "contiguous.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

// Parts between edges that go up. Where they are of about equal length, the place of a number is near to where that says;
// else it is searched for.
template <class T>
class Bins {
 public:
  Bins(const T* edges, npy_intp count)
      : edges_(edges), count_(count), per_length_(static_cast<T>(count) / (edges[count] - edges[0])) {}

  // That whose lower edge is the last one that is not above the number; the last edge belongs to the last one. -1: none.
  npy_int64 find(T value) const {
    if (!(value >= edges_[0] && value <= edges_[count_])) return -1;
    const T near = (value - edges_[0]) * per_length_;
    const npy_intp place = near >= 0 && near < static_cast<T>(count_) ? static_cast<npy_intp>(near) : count_ - 1;
    for (npy_intp i = std::max<npy_intp>(0, place - 1); i < std::min(place + 2, count_); ++i) {
      if (edges_[i] <= value && value < edges_[i + 1]) return i;
    }
    return std::min<npy_intp>(std::upper_bound(edges_, edges_ + count_ + 1, value) - edges_, count_) - 1;
  }

 private:
  const T* edges_;
  npy_intp count_;
  T per_length_;
};

PyArrayObject* vector_of(PyObject* object, int type) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_CheckExact(object) && PyArray_NDIM(array) == 1 && is_dense(array) &&
      (type < 0 ? kind_of(array) != Kind::kNone : PyArray_TYPE(array) == type)) {
    return array;
  }
  PyErr_SetString(PyExc_TypeError, "expected a dense vector of a known element type");
  return nullptr;
}

}  // namespace

PyObject* find_bins(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!has_count(count, 3)) return nullptr;
  PyArrayObject* values = vector_of(args[0], -1);
  PyArrayObject* edges = values ? vector_of(args[1], PyArray_TYPE(values)) : nullptr;
  PyArrayObject* places = edges ? vector_of(args[2], NPY_INT64) : nullptr;
  if (places == nullptr) return nullptr;
  const npy_intp size = PyArray_SIZE(values), bins = PyArray_SIZE(edges) - 1;
  if (PyArray_SIZE(places) != size || bins < 1 || !PyArray_ISWRITEABLE(places)) {
    PyErr_SetString(PyExc_ValueError, "expected two edges or more, and a place that can be written for each value");
    return nullptr;
  }
  const auto held = hold(values, edges, places);
  const bool done = contiguous::run_for(kind_of(values), size, [&]<class T>(T) {
    const Bins<T> all(elements<const T>(edges), bins);
    parallel_for(size, contiguous::kRowGrain, [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) elements<npy_int64>(places)[i] = all.find(elements<const T>(values)[i]);
    });
  });
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

}  // namespace gradwright
