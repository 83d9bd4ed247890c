// Fourier transforms along one dimension: what runtime/operators/composite/fourier.py makes of the operators of transforms, where nothing
// is cut off, made longer or converted.

#include "composites.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

Operator of_complex{"_fft_c2c_default"}, of_real{"_fft_r2c_default"}, to_real{"_fft_c2r_default"};
Operator conjugate{"_conj_physical_default"};

// What the operators call the factor of a transform; -1 for a word that is none.
long factor_of(PyObject* norm, bool forward) {
  if (norm == Py_None) return forward ? 0 : 2;
  if (!PyUnicode_Check(norm)) return -1;
  const auto is = [=](const char* word) { return PyUnicode_CompareWithASCIIString(norm, word) == 0; };
  return is("ortho") ? 1 : is("backward") ? (forward ? 0 : 2) : is("forward") ? (forward ? 2 : 0) : -1;
}

// One dimension of a Tensor of real or complex numbers, and the factor.
struct Transform {
  Ref dims, factor;
  npy_intp size = 0, length = 0;  // of the dimension, and what the caller asks for, or 0
  bool is_complex = false;

  // False: for Python.
  bool read(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm, bool forward) {
    PyArrayObject* array = array_of(self);
    const int type = PyArray_TYPE(array), ndim = PyArray_NDIM(array);
    is_complex = type == NPY_CFLOAT || type == NPY_CDOUBLE;
    if (ndim == 0 || (!is_complex && type != NPY_FLOAT && type != NPY_DOUBLE)) return false;
    const int place = detail::read_dim(dim, ndim);
    const long number = factor_of(norm, forward);
    if (place < 0 || number < 0) return false;
    if (n != Py_None && (!detail::read_int(n, &length) || length < 1)) return false;
    size = PyArray_DIM(array, place);
    dims = detail::ints({place});
    factor = Ref(PyLong_FromLong(number));
    return dims && factor && size > 0;
  }
  // Whether all of the dimension is transformed.
  bool takes_all() const { return length == 0 || length == size; }
};

Ref conjugated(Ref tensor) { return tensor ? conjugate(tensor.get()) : Ref(); }

Ref transform(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm, bool forward) {
  Transform along;
  if (!along.read(self, n, dim, norm, forward) || !along.takes_all()) return Ref();
  PyObject *dims = along.dims.get(), *factor = along.factor.get();
  if (along.is_complex) return of_complex(self, dims, factor, forward ? Py_True : Py_False);
  Ref made = of_real(self, dims, factor, Py_False);
  return forward ? std::move(made) : conjugated(std::move(made));
}

Ref from_real(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm, bool forward) {
  Transform along;
  if (!along.read(self, n, dim, norm, forward) || !along.takes_all() || along.is_complex) return Ref();
  Ref made = of_real(self, along.dims.get(), along.factor.get(), Py_True);
  return forward ? std::move(made) : conjugated(std::move(made));
}

Ref into_real(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm, bool forward) {
  Transform along;
  if (!along.read(self, n, dim, norm, forward) || !along.is_complex) return Ref();
  const npy_intp length = along.length == 0 ? 2 * (along.size - 1) : along.length;
  if (length < 1 || length / 2 + 1 != along.size) return Ref();
  Ref size(PyLong_FromSsize_t(length)), given = forward ? conjugate(self) : Ref::borrow(self);
  return size && given ? to_real(given.get(), along.dims.get(), along.factor.get(), size.get()) : Ref();
}

}  // namespace

namespace composites {

Ref fft_fft(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm) { return transform(self, n, dim, norm, true); }
GRADWRIGHT_KERNEL(fft_fft, 4, composite, by_sizes)
Ref fft_ifft(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm) { return transform(self, n, dim, norm, false); }
GRADWRIGHT_KERNEL(fft_ifft, 4, composite, by_sizes)
Ref fft_rfft(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm) { return from_real(self, n, dim, norm, true); }
GRADWRIGHT_KERNEL(fft_rfft, 4, composite, by_sizes)
Ref fft_ihfft(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm) {
  return from_real(self, n, dim, norm, false);
}
GRADWRIGHT_KERNEL(fft_ihfft, 4, composite, by_sizes)
Ref fft_irfft(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm) { return into_real(self, n, dim, norm, false); }
GRADWRIGHT_KERNEL(fft_irfft, 4, composite, by_sizes)
Ref fft_hfft(PyObject* self, PyObject* n, PyObject* dim, PyObject* norm) { return into_real(self, n, dim, norm, true); }
GRADWRIGHT_KERNEL(fft_hfft, 4, composite, by_sizes)

}  // namespace composites

}  // namespace gradwright
