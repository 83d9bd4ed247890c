#include "products.hpp"

#include <complex>

#include "kernels.hpp"

namespace gradwright {

namespace {

// Its inner loop calls BLAS, and multiplies by itself what BLAS has no form for.
Ufunc matmul{"matmul", 2, "bBhHiIlLqQfdFD"};
[[maybe_unused]] const bool is_matmul_enlisted = matmul.enlist();
// Fewer integers than these are multiplied by it; of more, Python makes numbers that BLAS multiplies.
constexpr npy_intp kFewIntegers = 1 << 11;

// From so many multiplications on, other threads run meanwhile.
constexpr npy_intp kLongWork = 1 << 16;

// The element type of the operands of a product, where there is a loop for it; else -1.
int common_type(PyArrayObject* a, PyArrayObject* b) {
  const int type = detail::type_of(a);
  const bool fits = detail::type_of(b) == type && PyArray_ISALIGNED(a) && PyArray_ISALIGNED(b) &&
                    matmul.loop(type) != nullptr &&
                    (!PyTypeNum_ISINTEGER(type) || PyArray_SIZE(a) + PyArray_SIZE(b) < kFewIntegers);
  return fits ? type : -1;
}

// Operands as batches of matrices: a missing dimension has one element and no stride.
struct Matrices {
  char* data;
  npy_intp step;  // from one matrix to the next, in bytes as all strides are
  npy_intp rows, columns;
  npy_intp row_step, column_step;
};

Matrices matrix(PyArrayObject* array) {
  return {PyArray_BYTES(array), 0, PyArray_DIM(array, 0), PyArray_DIM(array, 1),
          PyArray_STRIDE(array, 0), PyArray_STRIDE(array, 1)};
}
Matrices row(PyArrayObject* array) {
  return {PyArray_BYTES(array), 0, 1, PyArray_DIM(array, 0), 0, PyArray_STRIDE(array, 0)};
}
Matrices column(PyArrayObject* array) {
  return {PyArray_BYTES(array), 0, PyArray_DIM(array, 0), 1, PyArray_STRIDE(array, 0), 0};
}
Matrices batch(PyArrayObject* array) {
  return {PyArray_BYTES(array),     PyArray_STRIDE(array, 0), PyArray_DIM(array, 1),
          PyArray_DIM(array, 2),    PyArray_STRIDE(array, 1), PyArray_STRIDE(array, 2)};
}

// A new array with `count` products in it; `dims` is its shape.
Ref multiply(int type, npy_intp count, const Matrices& a, const Matrices& b, int ndim,
             const npy_intp* dims, bool by_columns = false) {
  const Loop& loop = *matmul.loop(type);
  PyArray_Descr* dtype = PyArray_DescrFromType(type);
  if (dtype == nullptr) return Ref();
  const npy_intp item = PyDataType_ELSIZE(dtype);
  const npy_intp columns[] = {item, a.rows * item};
  Ref out = new_array(dtype, ndim, dims, by_columns ? columns : nullptr);
  if (!out) return out;
  const npy_intp sizes[] = {count, a.rows, a.columns, b.columns};
  const npy_intp row_step = by_columns ? item : b.columns * item;
  const npy_intp column_step = by_columns ? a.rows * item : item;
  const npy_intp steps[] = {a.step,        b.step,     a.rows * row_step, a.row_step,
                            a.column_step, b.row_step, b.column_step,     row_step,
                            column_step};
  char* args[] = {a.data, b.data, PyArray_BYTES(as_ndarray(out))};
  ReleaseGil released(count * a.rows * a.columns * b.columns >= kLongWork);
  loop.function(args, sizes, steps, loop.data);
  return out;
}

Ref product(PyArrayObject* a, PyArrayObject* b, bool by_columns = false) {
  const int type = common_type(a, b);
  if (type < 0 || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2) return Ref();
  if (PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) return Ref();
  const npy_intp dims[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
  const auto held = hold(a, b);
  return multiply(type, 1, matrix(a), matrix(b), 2, dims, by_columns);
}

Ref product_of_batches(PyArrayObject* a, PyArrayObject* b) {
  const int type = common_type(a, b);
  if (type < 0 || PyArray_NDIM(a) != 3 || PyArray_NDIM(b) != 3) return Ref();
  if (PyArray_DIM(a, 0) != PyArray_DIM(b, 0) || PyArray_DIM(a, 2) != PyArray_DIM(b, 1)) return Ref();
  const npy_intp dims[] = {PyArray_DIM(a, 0), PyArray_DIM(a, 1), PyArray_DIM(b, 2)};
  const auto held = hold(a, b);
  return multiply(type, dims[0], batch(a), batch(b), 3, dims);
}

Ref product_with_vector(PyArrayObject* a, PyArrayObject* b) {
  const int type = common_type(a, b);
  if (type < 0 || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 1) return Ref();
  if (PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) return Ref();
  const auto held = hold(a, b);
  return multiply(type, 1, matrix(a), column(b), 1, PyArray_DIMS(a));
}

Ref product_of_vectors(PyArrayObject* a, PyArrayObject* b) {
  const int type = common_type(a, b);
  if (type < 0 || PyArray_NDIM(a) != 1 || PyArray_NDIM(b) != 1) return Ref();
  if (PyArray_DIM(a, 0) != PyArray_DIM(b, 0)) return Ref();
  const auto held = hold(a, b);
  return multiply(type, 1, row(a), column(b), 0, nullptr);
}

// -- adding to a product

// `out += term` for a row of dense elements; a step of 0 repeats one element.
template <class T>
void add_row(T* out, const char* term, npy_intp step, npy_intp size) {
  if (step == sizeof(T)) {
    const auto* values = reinterpret_cast<const T*>(term);
    for (npy_intp i = 0; i < size; ++i) out[i] += values[i];
  } else {
    for (npy_intp i = 0; i < size; ++i) out[i] += *reinterpret_cast<const T*>(term + i * step);
  }
}

// `out += term` for dense `out` of up to three dimensions; `steps` are the strides of `term`, broadcast.
template <class T>
void add_rows(PyArrayObject* out, const char* term, const npy_intp (&steps)[3]) {
  npy_intp sizes[3] = {1, 1, 1};
  const int ndim = PyArray_NDIM(out);
  for (int i = 0; i < ndim; ++i) sizes[3 - ndim + i] = PyArray_DIM(out, i);
  auto* row = static_cast<T*>(PyArray_DATA(out));
  for (npy_intp i = 0; i < sizes[0]; ++i) {
    for (npy_intp j = 0; j < sizes[1]; ++j, row += sizes[2]) {
      add_row(row, term + i * steps[0] + j * steps[1], steps[2], sizes[2]);
    }
  }
}

// The product with `term` added to it, which is broadcast; null where it does not fit.
Ref added(PyArrayObject* term, Ref product) {
  if (!product) return product;
  PyArrayObject* out = as_ndarray(product);
  const int lead = PyArray_NDIM(out) - PyArray_NDIM(term);
  if (lead < 0) return Ref();
  npy_intp steps[3] = {0, 0, 0};
  for (int i = 0; i < PyArray_NDIM(term); ++i) {
    const npy_intp size = PyArray_DIM(term, i);
    if (size != 1 && size != PyArray_DIM(out, lead + i)) return Ref();
    if (size != 1) steps[3 - PyArray_NDIM(term) + i] = PyArray_STRIDE(term, i);
  }
  if (PyArray_SIZE(out) == 0) return product;
  const auto held = hold(term);
  ReleaseGil released(PyArray_SIZE(out) >= kGrain);
  switch (PyArray_TYPE(out)) {
    case NPY_FLOAT:
      add_rows<float>(out, PyArray_BYTES(term), steps);
      break;
    case NPY_DOUBLE:
      add_rows<double>(out, PyArray_BYTES(term), steps);
      break;
    case NPY_CFLOAT:
      add_rows<std::complex<float>>(out, PyArray_BYTES(term), steps);
      break;
    default:
      add_rows<std::complex<double>>(out, PyArray_BYTES(term), steps);
  }
  return product;
}

bool is_number_one(PyObject* factor) {
  if (PyFloat_CheckExact(factor)) return PyFloat_AS_DOUBLE(factor) == 1;
  return kernels::is_one(factor);
}

bool adds_unscaled(PyObject* self, PyObject* factor, PyObject* beta, PyObject* alpha) {
  return is_number_one(beta) && is_number_one(alpha) && !PyArray_ISINTEGER(array_of(self)) &&
         common_type(array_of(self), array_of(factor)) >= 0;
}

}  // namespace

namespace kernels {

Ref mm(PyObject* self, PyObject* mat2) { return product(array_of(self), array_of(mat2)); }
Ref bmm(PyObject* self, PyObject* mat2) {
  return product_of_batches(array_of(self), array_of(mat2));
}
Ref mv(PyObject* self, PyObject* vec) { return product_with_vector(array_of(self), array_of(vec)); }
Ref dot(PyObject* self, PyObject* tensor) {
  return product_of_vectors(array_of(self), array_of(tensor));
}
Ref vdot(PyObject* self, PyObject* other) {
  return PyArray_ISCOMPLEX(array_of(self)) ? Ref() : dot(self, other);
}

Ref addmm(PyObject* self, PyObject* mat1, PyObject* mat2, PyObject* beta, PyObject* alpha) {
  if (!adds_unscaled(self, mat1, beta, alpha)) return Ref();
  return added(array_of(self), product(array_of(mat1), array_of(mat2)));
}
Ref addmv(PyObject* self, PyObject* mat, PyObject* vec, PyObject* beta, PyObject* alpha) {
  if (!adds_unscaled(self, mat, beta, alpha)) return Ref();
  return added(array_of(self), product_with_vector(array_of(mat), array_of(vec)));
}
Ref baddbmm(PyObject* self, PyObject* batch1, PyObject* batch2, PyObject* beta, PyObject* alpha) {
  if (!adds_unscaled(self, batch1, beta, alpha)) return Ref();
  return added(array_of(self), product_of_batches(array_of(batch1), array_of(batch2)));
}

}  // namespace kernels

Ref product_by_columns(PyObject* left, PyObject* right) {
  return product(array_of(left), array_of(right), true);
}

void multiply_into(Kind kind, npy_intp rows, npy_intp inner, npy_intp columns, const MatrixView& a, const MatrixView& b,
                   const MatrixView& out) {
  const Loop& loop = *matmul.found(kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE);
  const npy_intp sizes[] = {1, rows, inner, columns};
  const npy_intp steps[] = {0,          0,          0,            a.row_step,     a.column_step,
                            b.row_step, b.column_step, out.row_step, out.column_step};
  char* args[] = {a.data, b.data, out.data};
  loop.function(args, sizes, steps, loop.data);
}

}  // namespace gradwright
