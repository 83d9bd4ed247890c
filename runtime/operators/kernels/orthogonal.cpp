// QR factors of small matrices by Householder's reflections, as LAPACK's geqr2 and org2r make them: a call of LAPACK for each
// would cost more than its arithmetic.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

// Larger matrices are LAPACK's, which works on blocks of them.
constexpr npy_intp kMostReflections = 32, kMostRows = 128;

constexpr char kLargeMatrices[] = "no small matrices of float32 or float64";
constexpr char kOddMatrices[] = "elements that are not finite, or too near to 0";

// Rows of `width` elements, `step` apart, less what reflects them: tau v (v' a), where v begins with a 1.
struct Reflect {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict vector, npy_intp rows, T tau, T* __restrict a, npy_intp step,
                                    npy_intp width, T* __restrict sums) {
    std::copy_n(a, width, sums);
    for (npy_intp i = 1; i < rows; ++i) {
      for (npy_intp j = 0; j < width; ++j) sums[j] += vector[i] * a[i * step + j];
    }
    for (npy_intp j = 0; j < width; ++j) sums[j] *= tau;
    for (npy_intp j = 0; j < width; ++j) a[j] -= sums[j];
    for (npy_intp i = 1; i < rows; ++i) {
      for (npy_intp j = 0; j < width; ++j) a[i * step + j] -= vector[i] * sums[j];
    }
  }
};

// One matrix, and the reflections that turn it into a triangle.
template <class T>
class Factors {
 public:
  // `columns_of_q`: how many of Q there are.
  Factors(npy_intp rows, npy_intp columns, npy_intp columns_of_q)
      : rows_(rows), columns_(columns), of_q_(columns_of_q), count_(std::min(rows, columns)),
        room_(new T[static_cast<size_t>(rows * columns + rows * of_q_ + count_ * (rows + 1) +
                                        std::max(columns, of_q_))]) {}

  // Takes a matrix, row by row. False: LAPACK is to do it.
  bool factor(const T* matrix) {
    std::copy_n(matrix, rows_ * columns_, a());
    for (npy_intp k = 0; k < count_; ++k) {
      if (!find_reflection(k)) return false;
      const npy_intp right = columns_ - k - 1;
      if (tau()[k] != 0 && right > 0) {
        run_best<Reflect>(vector(k), rows_ - k, tau()[k], a() + k * columns_ + k + 1, columns_, right, sums());
      }
    }
    return true;
  }
  // Writes the rows of R that are there, column by column.
  void write_triangle(npy_intp rows, T* out) const {
    for (npy_intp j = 0; j < columns_; ++j) {
      for (npy_intp i = 0; i < rows; ++i) *out++ = i <= j ? a()[i * columns_ + j] : T(0);
    }
  }
  // Writes Q, column by column.
  void write_product(T* out) {
    T* q = a() + rows_ * columns_;
    std::fill_n(q, rows_ * of_q_, T(0));
    for (npy_intp k = 0; k < std::min(rows_, of_q_); ++k) q[k * of_q_ + k] = 1;
    for (npy_intp k = count_ - 1; k >= 0; --k) {
      if (tau()[k] != 0) {
        run_best<Reflect>(vector(k), rows_ - k, tau()[k], q + k * of_q_ + k, of_q_, of_q_ - k, sums());
      }
    }
    for (npy_intp j = 0; j < of_q_; ++j) {
      for (npy_intp i = 0; i < rows_; ++i) *out++ = q[i * of_q_ + j];
    }
  }

 private:
  T* a() const { return room_.get(); }
  T* vector(npy_intp k) const { return a() + rows_ * (columns_ + of_q_ + k); }
  T* tau() const { return vector(count_); }
  T* sums() const { return tau() + count_; }

  // The reflection that leaves of column k nothing below the diagonal, and what it makes of the diagonal.
  bool find_reflection(npy_intp k) {
    T *v = vector(k), *column = a() + k * columns_ + k, largest = 0;
    const npy_intp size = rows_ - k;
    for (npy_intp i = 1; i < size; ++i) {
      v[i] = column[i * columns_];
      const T magnitude = std::fabs(v[i]);
      if (!(magnitude <= largest)) largest = magnitude;
    }
    v[0] = 1;
    tau()[k] = 0;
    if (!std::isfinite(largest) || !std::isfinite(*column)) return false;
    if (largest == 0) return true;
    T squares = 0;
    for (npy_intp i = 1; i < size; ++i) squares += (v[i] / largest) * (v[i] / largest);
    const T alpha = *column, beta = -std::copysign(std::hypot(alpha, largest * std::sqrt(squares)), alpha);
    if (!std::isfinite(beta) || std::fabs(beta) < kLeast) return false;
    tau()[k] = (beta - alpha) / beta;
    const T factor = 1 / (alpha - beta);
    for (npy_intp i = 1; i < size; ++i) v[i] *= factor;
    *column = beta;
    return true;
  }

  // Where LAPACK scales a column before it divides by its length.
  static constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();

  npy_intp rows_, columns_, of_q_, count_;
  std::unique_ptr<T[]> room_;  // the matrix, Q, the vectors, their factors, sums
};

// Matrices of a batch like that of `array`, each column by column.
Ref new_matrices(PyArrayObject* array, npy_intp rows, npy_intp columns) {
  npy_intp sizes[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  const int ndim = PyArray_NDIM(array);
  std::copy_n(PyArray_DIMS(array), ndim - 2, sizes);
  sizes[ndim - 2] = rows;
  sizes[ndim - 1] = columns;
  strides[ndim - 2] = PyArray_ITEMSIZE(array);
  strides[ndim - 1] = rows * strides[ndim - 2];
  npy_intp step = columns * strides[ndim - 1];
  for (int i = ndim - 3; i >= 0; step *= sizes[i--]) strides[i] = step;
  Py_INCREF(PyArray_DESCR(array));
  return gradwright::new_array(PyArray_DESCR(array), ndim, sizes, strides);
}

}  // namespace

namespace kernels {

Ref linalg_qr(PyObject* A, PyObject* mode) {
  PyArrayObject* array = array_of(A);
  const Kind kind = kind_of(array);
  const int ndim = PyArray_NDIM(array);
  if (kind == Kind::kNone || ndim < 2 || PyArray_SIZE(array) == 0 || !PyUnicode_Check(mode)) return declined(kLargeMatrices);
  const npy_intp rows = PyArray_DIM(array, ndim - 2), columns = PyArray_DIM(array, ndim - 1);
  const npy_intp rank = std::min(rows, columns);
  if (rank > kMostReflections || std::max(rows, columns) > kMostRows) return declined(kLargeMatrices);
  const auto is_mode = [=](const char* name) { return PyUnicode_CompareWithASCIIString(mode, name) == 0; };
  const bool complete = is_mode("complete"), alone = is_mode("r");
  if (!complete && !alone && !is_mode("reduced")) return Ref();
  const npy_intp of_q = alone ? 0 : complete ? rows : rank, of_r = complete ? rows : rank;
  const npy_intp many = PyArray_SIZE(array) / (rows * columns);
  Ref in = usable(A, kind), r = new_matrices(array, of_r, columns);
  Ref q = alone ? new_array(1, &of_q, kind) : new_matrices(array, rows, of_q);
  if (!in || !q || !r) return Ref();
  std::atomic<bool> usual = true;
  const bool done = run_for(kind, PyArray_SIZE(array) * rank, [&]<class T>(T) {
    const T* matrices = elements<const T>(as_ndarray(in));
    T *products = elements<T>(as_ndarray(q)), *triangles = elements<T>(as_ndarray(r));
    const npy_intp grain = std::max<npy_intp>(1, kGrain / (rows * columns * rank));
    parallel_for(many, grain, [&](npy_intp begin, npy_intp end) {
      Factors<T> factors(rows, columns, of_q);
      for (npy_intp i = begin; i < end; ++i) {
        if (!factors.factor(matrices + i * rows * columns)) {
          usual = false;
          return;
        }
        factors.write_triangle(of_r, triangles + i * of_r * columns);
        if (!alone) factors.write_product(products + i * rows * of_q);
      }
    });
  });
  if (!done || !usual) return declined(kOddMatrices);
  return Ref(PyTuple_Pack(2, q.get(), r.get()));
}
GRADWRIGHT_KERNEL(linalg_qr, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
