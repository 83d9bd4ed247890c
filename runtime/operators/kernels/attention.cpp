// The scores of some queries with all keys are a block that stays in the cache: a product of matrices makes it, its rows
// become weights, and a second product makes the values of them. Only a number for each query is kept of the weights, and
// the gradients compute them again. Where a query sees the keys up to its own place, the others of a block are left out.

#include "attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"
#include "products.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr char kOtherAttention[] = "attention of another form";

// So many queries are computed together, and fewer where there are many keys. A product of more rows is quicker; of fewer,
// where later keys are hidden, more is left out.
constexpr npy_intp kQueries = 256, kQueriesInOrder = 64;
constexpr npy_intp kScores = npy_intp{1} << 16;

struct Attention {
  npy_intp batch, heads, length, keys, size;
  bool causal;
  double factor;

  npy_intp together() const { return std::clamp<npy_intp>(kScores / keys, 8, causal ? kQueriesInOrder : kQueries); }
  // How many keys the queries before `end` see.
  npy_intp seen(npy_intp end) const { return causal ? std::min(keys, end) : keys; }
  npy_intp work() const { return batch * heads * length * keys * size; }
};

// An array of four dimensions, whose last one is dense: strides are in bytes.
struct Heads {
  Ref array;
  npy_intp steps[3];

  explicit operator bool() const { return static_cast<bool>(array); }
  MatrixView matrix(npy_intp i, npy_intp j, npy_intp row = 0) const {
    const auto item = static_cast<npy_intp>(PyArray_ITEMSIZE(as_ndarray(array)));
    return {PyArray_BYTES(as_ndarray(array)) + i * steps[0] + j * steps[1] + row * steps[2], steps[2], item};
  }
};
MatrixView transposed(const MatrixView& matrix) { return {matrix.data, matrix.column_step, matrix.row_step}; }

Heads heads_of(Ref array) {
  Heads heads{std::move(array), {}};
  if (heads) std::copy_n(PyArray_STRIDES(as_ndarray(heads.array)), 3, heads.steps);
  return heads;
}

// The logarithm for each query, which lie by (batch, length, heads).
Ref new_logarithms(const Attention& plan, Kind kind) {
  const npy_intp item = kind == Kind::kFloat32 ? sizeof(float) : sizeof(double);
  const npy_intp sizes[] = {plan.batch, plan.heads, plan.length};
  const npy_intp steps[] = {plan.length * plan.heads * item, item, plan.heads * item};
  return gradwright::new_array(kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE, 3, sizes, steps);
}

// A gradient, which lies by (batch, rows, heads, size).
Ref new_by_rows(const Attention& plan, npy_intp rows, Kind kind) {
  const npy_intp item = kind == Kind::kFloat32 ? sizeof(float) : sizeof(double), head = plan.size * item;
  const npy_intp sizes[] = {plan.batch, plan.heads, rows, plan.size};
  const npy_intp steps[] = {rows * plan.heads * head, head, plan.heads * head, item};
  return gradwright::new_array(kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE, 4, sizes, steps);
}

// What is given, or a copy of it.
Heads heads_given(PyArrayObject* array) {
  const npy_intp item = PyArray_ITEMSIZE(array);
  bool dense = PyArray_ISALIGNED(array) && (PyArray_STRIDE(array, 3) == item || PyArray_DIM(array, 3) == 1);
  for (int i = 0; i < 3; ++i) dense = dense && PyArray_STRIDE(array, i) >= 0 && PyArray_STRIDE(array, i) % item == 0;
  return heads_of(dense ? Ref::borrow(reinterpret_cast<PyObject*>(array)) : contiguous_copy(array));
}

// What is added to the scores, broadcast to (batch, heads, length, keys): a row of it is dense, or null.
struct Mask {
  Ref array;
  npy_intp steps[3] = {0, 0, 0};

  template <class T>
  const T* row(npy_intp i, npy_intp j, npy_intp at) const {
    if (!array) return nullptr;
    return reinterpret_cast<const T*>(PyArray_BYTES(as_ndarray(array)) + i * steps[0] + j * steps[1] + at * steps[2]);
  }
};

bool read_mask(PyObject* given, Kind kind, const Attention& plan, Mask& mask) {
  if (given == Py_None) return true;
  PyArrayObject* array = array_of(given);
  const int ndim = PyArray_NDIM(array);
  if (kind_of(array) != kind || (ndim != 2 && ndim != 4) || PyArray_DIM(array, ndim - 1) != plan.keys) return false;
  const npy_intp sizes[] = {plan.batch, plan.heads, plan.length};
  mask.array = usable(given, kind);
  if (!mask.array) return false;
  for (int i = 4 - ndim; i < 3; ++i) {
    const npy_intp size = PyArray_DIM(array, i - (4 - ndim));
    if (size != 1 && size != sizes[i]) return false;
    if (size != 1) mask.steps[i] = PyArray_STRIDE(as_ndarray(mask.array), i - (4 - ndim));
  }
  return true;
}

// Scores as what their exponentials are computed of, in place: `row[i] * factor + mask[i] - by`, and minus infinity from the
// `seen`-th on. Rows are gone through as a whole, which vectors do.
struct Weigh {
  template <class T>
  static GRADWRIGHT_INLINE void hidden(T* row, npy_intp seen, npy_intp size, T factor, const T* __restrict mask) {
    if (mask != nullptr) {
      for (npy_intp i = 0; i < size; ++i) row[i] = row[i] * factor + mask[i];
    } else {
      for (npy_intp i = 0; i < size; ++i) row[i] *= factor;
    }
    for (npy_intp i = seen; i < size; ++i) row[i] = -std::numeric_limits<T>::infinity();
  }
  // By what a former run gave.
  template <class T>
  static GRADWRIGHT_INLINE void run(T* row, npy_intp seen, npy_intp size, T factor, const T* mask, T by) {
    hidden(row, seen, size, factor, mask);
    for (npy_intp i = 0; i < size; ++i) row[i] -= by;
  }
};

// By the maximum, which it gives; 0 where nothing is seen.
struct WeighFirst {
  template <class T>
  static GRADWRIGHT_INLINE T run(T* row, npy_intp seen, npy_intp size, T factor, const T* mask) {
    Weigh::hidden(row, seen, size, factor, mask);
    T by = ExtremeElement<true>::run(static_cast<const T*>(row), size);
    if (by == -std::numeric_limits<T>::infinity()) by = 0;
    for (npy_intp i = 0; i < size; ++i) row[i] -= by;
    return by;
  }
};

struct Divide {
  template <class T>
  static GRADWRIGHT_INLINE void run(T* row, npy_intp size, T total) {
    for (npy_intp i = 0; i < size; ++i) row[i] /= total;
  }
};

// Exponentials become weights, and changes of the weights those of the scores.
struct Change {
  template <class T>
  static GRADWRIGHT_INLINE void run(T* __restrict weights, T* __restrict changes, npy_intp size, T total, T level,
                                    T factor) {
    for (npy_intp i = 0; i < size; ++i) {
      const T weight = weights[i] / total;
      weights[i] = weight;
      changes[i] = (changes[i] - level) * weight * factor;
    }
  }
};

struct AddRow {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp size, T* __restrict out) {
    for (npy_intp i = 0; i < size; ++i) out[i] += in[i];
  }
};

template <class T>
T* row_of(const MatrixView& matrix, npy_intp row) {
  return reinterpret_cast<T*>(matrix.data + row * matrix.row_step);
}

template <class T>
MatrixView rows_at(T* data, npy_intp width) {
  return {reinterpret_cast<char*>(data), width * static_cast<npy_intp>(sizeof(T)), sizeof(T)};
}

// A sum of exponentials; 1 for none, so that zeros stay zeros.
template <class T>
T total_of(const T* row, npy_intp size) {
  const T total = sum_dense(row, size);
  return total == 0 ? T(1) : total;
}

struct Operands {
  Heads query, key, value;
  Mask mask;
};

template <class T>
constexpr Kind kKindOf = std::is_same_v<T, float> ? Kind::kFloat32 : Kind::kFloat64;

// each(i, j) for the heads of all elements of the batch, on several threads.
template <class Each>
void for_heads(const Attention& plan, Each each) {
  const npy_intp work = plan.length * plan.keys * plan.size;
  parallel_for(plan.batch * plan.heads, std::max<npy_intp>(1, kGrain / work), [&](npy_intp begin, npy_intp end) {
    for (npy_intp at = begin; at < end; ++at) each(at / plan.heads, at % plan.heads);
  });
}

template <class T>
void forward(const Attention& plan, const Operands& given, const Heads& out, T* logarithms) {
  const T factor = static_cast<T>(plan.factor);
  const npy_intp together = plan.together();
  for_heads(plan, [&](npy_intp i, npy_intp j) {
    Scratch<T> memory(together * plan.keys), moved(together);
    T *scores = memory.data(), *tops = moved.data(), *logs = logarithms + i * plan.length * plan.heads + j;
    for (npy_intp first = 0; first < plan.length; first += together) {
      const npy_intp count = std::min(together, plan.length - first), keys = plan.seen(first + count);
      const MatrixView block = rows_at(scores, keys), to = out.matrix(i, j, first);
      multiply_into(kKindOf<T>, count, plan.size, keys, given.query.matrix(i, j, first),
                    transposed(given.key.matrix(i, j)), block);
      for (npy_intp k = 0; k < count; ++k) {
        tops[k] = run_best<WeighFirst>(scores + k * keys, plan.seen(first + k + 1), keys, factor,
                                       given.mask.row<T>(i, j, first + k));
      }
      exponentials_of(scores, scores, count * keys);
      multiply_into(kKindOf<T>, count, keys, plan.size, block, given.value.matrix(i, j), to);
      for (npy_intp k = 0; k < count; ++k) {
        const T total = total_of(scores + k * keys, keys);
        run_best<Divide>(row_of<T>(to, k), plan.size, total);
        logs[(first + k) * plan.heads] = tops[k] + std::log(total);
      }
    }
  });
}

template <class T>
void backward(const Attention& plan, const Operands& given, const Heads& grad, const Heads& result, const T* logarithms,
              const Heads (&to)[3]) {
  const T factor = static_cast<T>(plan.factor);
  const npy_intp together = plan.together(), blocks = (plan.length + together - 1) / together, size = plan.size;
  for_heads(plan, [&](npy_intp i, npy_intp j) {
    Scratch<T> first_memory(together * plan.keys), second_memory(together * plan.keys);
    Scratch<T> sums(blocks > 1 ? plan.keys * size : 0);
    T *weights = first_memory.data(), *changes = second_memory.data();
    const T* logs = logarithms + (i * plan.heads + j) * plan.length;
    const MatrixView key = given.key.matrix(i, j), value = given.value.matrix(i, j);
    // The last block comes first: it sees all keys that any sees.
    for (npy_intp block = blocks - 1; block >= 0; --block) {
      const npy_intp first = block * together, count = std::min(together, plan.length - first);
      const npy_intp keys = plan.seen(first + count);
      const MatrixView of_weights = rows_at(weights, keys), of_changes = rows_at(changes, keys);
      const MatrixView query = given.query.matrix(i, j, first), grads = grad.matrix(i, j, first);
      const MatrixView results = result.matrix(i, j, first);
      multiply_into(kKindOf<T>, count, size, keys, query, transposed(key), of_weights);
      multiply_into(kKindOf<T>, count, size, keys, grads, transposed(value), of_changes);
      for (npy_intp k = 0; k < count; ++k) {
        run_best<Weigh>(weights + k * keys, plan.seen(first + k + 1), keys, factor, given.mask.row<T>(i, j, first + k),
                        logs[first + k]);
      }
      exponentials_of(weights, weights, count * keys);
      for (npy_intp k = 0; k < count; ++k) {
        T* row = weights + k * keys;
        const T level = T(0) + dot_dense(row_of<const T>(grads, k), row_of<const T>(results, k), size);
        run_best<Change>(row, changes + k * keys, keys, total_of(row, keys), level, factor);
      }
      multiply_into(kKindOf<T>, count, keys, size, of_changes, key, to[0].matrix(i, j, first));
      const std::pair<MatrixView, MatrixView> products[] = {{of_changes, query}, {of_weights, grads}};
      for (int which = 0; which < 2; ++which) {
        const MatrixView all = to[which + 1].matrix(i, j);
        const auto& [left, right] = products[which];
        if (block == blocks - 1) {
          multiply_into(kKindOf<T>, keys, count, size, transposed(left), right, all);
          for (npy_intp k = keys; k < plan.keys; ++k) std::fill_n(row_of<T>(all, k), size, T(0));
          continue;
        }
        multiply_into(kKindOf<T>, keys, count, size, transposed(left), right, rows_at(sums.data(), size));
        for (npy_intp k = 0; k < keys; ++k) {
          run_best<AddRow>(static_cast<const T*>(sums.data() + k * size), size, row_of<T>(all, k));
        }
      }
    }
  });
}

// -- from Tensors

bool has_sizes(PyArrayObject* array, npy_intp batch, npy_intp heads, npy_intp rows, npy_intp size, Kind kind) {
  const npy_intp sizes[] = {batch, heads, rows, size};
  return kind_of(array) == kind && PyArray_NDIM(array) == 4 && std::equal(sizes, sizes + 4, PyArray_DIMS(array));
}

// False for what the Python kernel does, or refuses.
bool read(PyObject* query, PyObject* key, PyObject* value, PyObject* dropout_p, PyObject* is_causal,
          PyObject* attn_mask, PyObject* scale, Attention& plan, Operands& given) {
  PyArrayObject *queries = array_of(query), *keys = array_of(key), *values = array_of(value);
  const Kind kind = kind_of(queries);
  if (kind == Kind::kNone || PyArray_NDIM(queries) != 4 || PyArray_NDIM(keys) != 4) return false;
  plan.batch = PyArray_DIM(queries, 0);
  plan.heads = PyArray_DIM(queries, 1);
  plan.length = PyArray_DIM(queries, 2);
  plan.keys = PyArray_DIM(keys, 2);
  plan.size = PyArray_DIM(queries, 3);
  for (PyArrayObject* array : {keys, values}) {
    if (!has_sizes(array, plan.batch, plan.heads, plan.keys, plan.size, kind)) return false;
  }
  if (plan.work() == 0 || !PyFloat_CheckExact(dropout_p) || PyFloat_AS_DOUBLE(dropout_p) != 0) return false;
  if (!PyBool_Check(is_causal) || (scale != Py_None && !PyFloat_CheckExact(scale))) return false;
  plan.causal = is_causal == Py_True;
  plan.factor = scale == Py_None ? 1 / std::sqrt(static_cast<double>(plan.size)) : PyFloat_AS_DOUBLE(scale);
  given.query = heads_given(queries);
  given.key = heads_given(keys);
  given.value = heads_given(values);
  return given.query && given.key && given.value && read_mask(attn_mask, kind, plan, given.mask);
}

}  // namespace

namespace kernels {

Ref flash_attention(PyObject* query, PyObject* key, PyObject* value, PyObject* dropout_p, PyObject* is_causal,
                    PyObject* attn_mask, PyObject* scale) {
  Attention plan;
  Operands given;
  if (!read(query, key, value, dropout_p, is_causal, attn_mask, scale, plan, given)) return declined(kOtherAttention);
  const Kind kind = kind_of(array_of(query));
  Heads out = heads_of(new_array_like(array_of(query)));
  Ref logarithms = new_logarithms(plan, kind);
  if (!out || !logarithms) return Ref();
  if (out.steps[2] < 0 || PyArray_STRIDE(as_ndarray(out.array), 3) != PyArray_ITEMSIZE(as_ndarray(out.array))) {
    return declined(kOtherAttention);
  }
  const bool done = run_for(kind, plan.work(),
                            [&]<class T>(T) { forward<T>(plan, given, out, elements<T>(as_ndarray(logarithms))); });
  return done ? Ref(PyTuple_Pack(2, out.array.get(), logarithms.get())) : Ref();
}

Ref flash_attention_backward(PyObject* grad_out, PyObject* query, PyObject* key, PyObject* value, PyObject* out,
                             PyObject* logsumexp, PyObject* dropout_p, PyObject* is_causal, PyObject* attn_mask,
                             PyObject* scale) {
  Attention plan;
  Operands given;
  if (!read(query, key, value, dropout_p, is_causal, attn_mask, scale, plan, given)) return declined(kOtherAttention);
  PyArrayObject *queries = array_of(query), *logs = array_of(logsumexp);
  const Kind kind = kind_of(queries);
  for (PyObject* tensor : {grad_out, out}) {
    if (!has_sizes(array_of(tensor), plan.batch, plan.heads, plan.length, plan.size, kind))
      return declined(kOtherAttention);
  }
  if (kind_of(logs) != kind || PyArray_NDIM(logs) != 3 ||
      !std::equal(PyArray_DIMS(logs), PyArray_DIMS(logs) + 3, PyArray_DIMS(queries))) {
    return declined(kOtherAttention);
  }
  const Heads grad = heads_given(array_of(grad_out)), result = heads_given(array_of(out));
  Ref logarithms = usable(logsumexp, kind);
  Heads to[3];
  for (int i = 0; i < 3; ++i) {
    to[i] = heads_of(new_by_rows(plan, i == 0 ? plan.length : plan.keys, kind));
    if (!to[i]) return Ref();
  }
  if (!grad || !result || !logarithms) return Ref();
  const bool done = run_for(kind, plan.work(), [&]<class T>(T) {
    backward<T>(plan, given, grad, result, elements<const T>(as_ndarray(logarithms)), to);
  });
  return done ? Ref(PyTuple_Pack(3, to[0].array.get(), to[1].array.get(), to[2].array.get())) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
