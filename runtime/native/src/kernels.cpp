// Element-wise calls: finding loops, laying results out, and walking operands of any strides.

#include "kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gradwright_ufunc
#include <numpy/ufuncobject.h>

#include "layouts.hpp"
#include "special.hpp"
#include "views.hpp"

namespace gradwright {

// -- finding loops

Ufunc* Ufunc::all_ = nullptr;
bool Ufunc::found_ = false;
bool Ufunc::quick_ = false;

void Ufunc::announce() {
  find_once();
  quick_ = !watching;
  if (watching) note_kernel(kNumpyLoop);
}

void Ufunc::find_all() {
  found_ = true;
  PyObject* numpy = PyImport_ImportModule("numpy");
  for (Ufunc* ufunc = all_; numpy != nullptr && ufunc != nullptr; ufunc = ufunc->next_) ufunc->find(numpy);
  Py_XDECREF(numpy);
  PyErr_Clear();
}

void Ufunc::find(PyObject* numpy) {
  Ref object(PyObject_GetAttrString(numpy, name_));
  if (!object) {
    PyErr_Clear();
    return;
  }
  // The ufunc itself lives as long as NumPy.
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(object.get());
  if (ufunc->nin != operands_ || ufunc->nout != 1) return;
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const auto* types = reinterpret_cast<const unsigned char*>(ufunc->types) + i * ufunc->nargs;
    const int type = types[0];
    if (type >= kTypes || loops_[type].function != nullptr) continue;
    if (operands_ == 2 && types[1] != type) continue;
    PyArray_Descr* descr = PyArray_DescrFromType(type);
    if (descr == nullptr) {
      PyErr_Clear();
      continue;
    }
    if (std::strchr(takes_, descr->type) != nullptr) {
      void* data = ufunc->data == nullptr ? nullptr : const_cast<void*>(ufunc->data[i]);
      loops_[type] = {ufunc->functions[i], data, types[operands_], false};
    }
    Py_DECREF(descr);
  }
}

int cpu_generation() {
#ifdef GRADWRIGHT_X86
  static const int generation = [] {
    __builtin_cpu_init();
    int best = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
    if (best == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
      best = 2;
    }
    const char* wanted = std::getenv("GRADWRIGHT_CPU");
    if (wanted == nullptr) return best;
    if (std::strcmp(wanted, "baseline") == 0) return 0;
    return std::strcmp(wanted, "avx2") == 0 ? std::min(best, 1) : best;
  }();
  return generation;
#else
  return 0;
#endif
}

// -- operands

bool Operand::set(PyObject* object, int type) {
  if (PyFloat_CheckExact(object) && type != NPY_INT64) {
    number.re = PyFloat_AS_DOUBLE(object);
  } else if (PyLong_CheckExact(object)) {
    int overflow;
    whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
    if (type == NPY_INT64) return true;
    if (whole > (1ll << 53) || whole < -(1ll << 53)) return false;
    number.re = static_cast<double>(whole);
  } else {
    return false;
  }
  single.re = static_cast<float>(number.re);
  return true;
}

namespace {

// The function for such a call.
LoopFunction function_for(const Loop& loop, char* const* args, int count, npy_intp size, const npy_intp* steps) {
  const npy_intp item = loop.result == NPY_FLOAT ? sizeof(float) : sizeof(double);
  const int last = count - 1;
  if (loop.streaming == nullptr || steps[last] != item) return loop.function;
  npy_intp bytes = size * item;
  for (int k = 0; k < last; ++k) {
    if ((steps[k] != item && steps[k] != 0) || args[k] == args[last]) return loop.function;
    bytes += size * steps[k];
  }
  return goes_around(loop, bytes) ? loop.streaming : loop.function;
}

}  // namespace

void run_large(const Loop& loop, char* const* args, int count, npy_intp size, const npy_intp* steps) {
  const LoopFunction function = function_for(loop, args, count, size, steps);
  ReleaseGil without_gil;
  parallel_for(size, kGrain, [&](npy_intp begin, npy_intp end) {
    char* from[kMostOperands + 1];
    for (int k = 0; k < count; ++k) from[k] = args[k] + begin * steps[k];
    const npy_intp part = end - begin;
    function(from, &part, steps, loop.data);
    end_streaming();
  });
}

namespace {

constexpr int kMostDims = 32;

// The dimensions of a call, and the steps of its operands and its result through each: in the order of the arrays, or from
// the innermost on.
struct Walk {
  int count = 0;  // operands and result
  int ndim = 0;
  npy_intp items[kMostOperands + 1];  // bytes of an element of each
  npy_intp shape[kMostDims];
  std::array<npy_intp, kMostOperands + 1> steps[kMostDims];
};

// The shape that operands broadcast to; false where there is none.
bool broadcast(Walk& walk, const Operand* operands, int count) {
  walk.count = count + 1;
  for (int k = 0; k < count; ++k) {
    PyArrayObject* array = operands[k].array;
    walk.items[k] = array == nullptr ? 0 : PyArray_ITEMSIZE(array);
    if (array != nullptr) walk.ndim = std::max(walk.ndim, PyArray_NDIM(array));
  }
  if (walk.ndim > kMostDims) return false;
  std::fill_n(walk.shape, walk.ndim, 1);
  for (int k = 0; k < count; ++k) {
    PyArrayObject* array = operands[k].array;
    const int missing = array == nullptr ? walk.ndim : walk.ndim - PyArray_NDIM(array);
    for (int i = 0; i < walk.ndim; ++i) {
      const npy_intp size = i < missing ? 1 : PyArray_DIM(array, i - missing);
      walk.steps[i][k] = size == 1 ? 0 : PyArray_STRIDE(array, i - missing);
      if (size == 1) continue;
      if (walk.shape[i] != 1 && walk.shape[i] != size) return false;
      walk.shape[i] = size;
    }
  }
  return true;
}

// The order of memory of a result, in short: 'C' or 'F' where all operands with dimensions have one shape and one order; 0
// where strides have to be looked at.
char simple_order(const Operand* operands, int count) {
  constexpr int kBoth = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
  PyArrayObject* first = nullptr;
  int order = 0;
  for (int k = 0; k < count; ++k) {
    PyArrayObject* array = operands[k].array;
    if (array == nullptr || PyArray_NDIM(array) == 0) continue;
    if (first == nullptr) first = array;
    if (!detail::same_shape(first, array)) return 0;
    if (PyArray_NDIM(array) == 1) continue;
    const int own = PyArray_FLAGS(array) & kBoth;
    if (own == 0 || (order != 0 && order != own)) return 0;
    order = own;
  }
  return order == NPY_ARRAY_F_CONTIGUOUS ? 'F' : 'C';
}

// Dimensions from the innermost on, for a result in the order of the operands.
void sort_walk(const Walk& walk, const Operand* operands, int* sorted) {
  const auto step = [&](int k, int dim) -> npy_intp {
    PyArrayObject* array = operands[k].array;
    const int own = array == nullptr ? -1 : dim - (walk.ndim - PyArray_NDIM(array));
    if (own < 0 || (PyArray_DIM(array, own) == 1 && walk.shape[dim] != 1)) return 0;
    return std::abs(PyArray_STRIDE(array, own));
  };
  sort_dimensions(walk.ndim, walk.shape, walk.count - 1, step, sorted);
}

// Strides of a dense result whose dimensions lie in this order.
void lay_out(const Walk& walk, const int* sorted, npy_intp item, npy_intp* strides) {
  for (int i = 0; i < walk.ndim; ++i) {
    strides[sorted[i]] = item;
    item *= walk.shape[sorted[i]];
  }
}

void canonical_order(int ndim, char order, int* sorted) {
  for (int i = 0; i < ndim; ++i) sorted[i] = order == 'F' ? i : ndim - 1 - i;
}

// The dimensions in the sorted order, those joined that all operands go through as if they were one.
void sort_and_join(const Walk& given, const int* sorted, Walk& walk) {
  walk.count = given.count;
  std::copy_n(given.items, given.count, walk.items);
  for (int i = 0; i < given.ndim; ++i) {
    const npy_intp size = given.shape[sorted[i]];
    const auto& steps = given.steps[sorted[i]];
    if (size == 1) continue;
    if (walk.ndim > 0) {
      const int last = walk.ndim - 1;
      bool joined = true;
      for (int k = 0; k < walk.count; ++k) joined = joined && steps[k] == walk.steps[last][k] * walk.shape[last];
      if (joined) {
        walk.shape[last] *= size;
        continue;
      }
    }
    walk.shape[walk.ndim] = size;
    walk.steps[walk.ndim++] = steps;
  }
  if (walk.ndim == 0) {
    walk.shape[0] = 1;
    walk.steps[0].fill(0);
    walk.ndim = 1;
  }
}

// Where a row of the innermost dimension is: its place in each of the others, and the first element of each operand.
struct RowPlace {
  npy_intp index[kMostDims];
  char* from[kMostOperands + 1];

  RowPlace(const Walk& walk, char* const* args, npy_intp row) {
    std::copy_n(args, walk.count, from);
    for (int i = 1; i < walk.ndim; ++i) {
      index[i] = 0;
      move(walk, i, row % walk.shape[i]);
      row /= walk.shape[i];
    }
  }
  void move(const Walk& walk, int dim, npy_intp by) {
    index[dim] += by;
    for (int k = 0; k < walk.count; ++k) from[k] += by * walk.steps[dim][k];
  }
  // So many rows on, of which there are as many in the innermost of the other dimensions. Whether that came to its end.
  bool advance(const Walk& walk, npy_intp rows) {
    move(walk, 1, rows);
    const bool ended = index[1] == walk.shape[1];
    for (int i = 1; index[i] == walk.shape[i] && i + 1 < walk.ndim; ++i) {
      move(walk, i, -walk.shape[i]);
      move(walk, i + 1, 1);
    }
    return ended;
  }
};

// Rows of the innermost dimension, from one number to another.
void run_rows(const Loop& loop, const Walk& walk, char* const* args, npy_intp begin, npy_intp end) {
  RowPlace place(walk, args, begin);
  for (npy_intp row = begin; row < end; ++row) {
    char* row_args[kMostOperands + 1];
    std::copy_n(place.from, walk.count, row_args);
    loop.function(row_args, &walk.shape[0], walk.steps[0].data(), loop.data);
    if (row + 1 < end) place.advance(walk, 1);
  }
}

// Rows that are so short that a call for each costs more than their elements: many at once, as one that is dense.
constexpr npy_intp kNarrow = 16, kGathered = 1024;

bool is_narrow(const Walk& walk) {
  if (walk.ndim < 2 || walk.shape[0] > kNarrow || walk.shape[1] < kNarrow) return false;
  const int out = walk.count - 1;
  return walk.steps[0][out] == walk.items[out] && walk.steps[1][out] == walk.items[out] * walk.shape[0];
}

template <class U>
void gather(const char* from, npy_intp step, npy_intp row_step, npy_intp width, npy_intp rows, char* to) {
  for (npy_intp j = 0; j < width; ++j) {
    const char* column = from + j * step;
    U* out = reinterpret_cast<U*>(to) + j;
    for (npy_intp i = 0; i < rows; ++i) out[i * width] = *reinterpret_cast<const U*>(column + i * row_step);
  }
}

// An operand of narrow rows.
struct NarrowOperand {
  npy_intp item, step, row_step;
  bool as_it_is;  // dense already, or a single element
  std::unique_ptr<Wide[]> memory;
  char* data = nullptr;

  // The elements of so many rows from there.
  char* read(char* from, npy_intp width, npy_intp rows) {
    if (as_it_is) return from;
    switch (item) {
      case 1: gather<uint8_t>(from, step, row_step, width, rows, data); break;
      case 2: gather<uint16_t>(from, step, row_step, width, rows, data); break;
      case 4: gather<uint32_t>(from, step, row_step, width, rows, data); break;
      case 8: gather<uint64_t>(from, step, row_step, width, rows, data); break;
      default: gather<Wide>(from, step, row_step, width, rows, data);
    }
    return data;
  }
};

// As run_rows(), for narrow rows. False: there is no memory, and nothing was done.
bool run_narrow(const Loop& loop, const Walk& walk, char* const* args, npy_intp begin, npy_intp end) {
  const npy_intp width = walk.shape[0], most = std::min(kGathered / width, walk.shape[1]);
  NarrowOperand operands[kMostOperands + 1];
  npy_intp steps[kMostOperands + 1];
  for (int k = 0; k < walk.count; ++k) {
    NarrowOperand& operand = operands[k];
    operand.item = walk.items[k];
    operand.step = walk.steps[0][k];
    operand.row_step = walk.steps[1][k];
    operand.as_it_is = operand.row_step == width * operand.step && (operand.step == operand.item || operand.step == 0);
    steps[k] = operand.as_it_is ? operand.step : operand.item;
    if (operand.as_it_is) continue;
    operand.memory.reset(new (std::nothrow) Wide[static_cast<size_t>(most * width)]);
    if (!operand.memory) return false;
    operand.data = reinterpret_cast<char*>(operand.memory.get());
  }
  RowPlace place(walk, args, begin);
  npy_intp known = 0;  // rows that were read of operands whose rows are all the same
  for (npy_intp row = begin; row < end;) {
    const npy_intp rows = std::min({most, walk.shape[1] - place.index[1], end - row}), size = rows * width;
    char* row_args[kMostOperands + 1];
    for (int k = 0; k < walk.count; ++k) {
      const bool same = operands[k].row_step == 0 && !operands[k].as_it_is;
      row_args[k] = same && rows <= known ? operands[k].data : operands[k].read(place.from[k], width, rows);
    }
    loop.function(row_args, &size, steps, loop.data);
    row += rows;
    known = place.advance(walk, rows) ? 0 : std::max(known, rows);
  }
  return true;
}

void run_part(const Loop& loop, const Walk& walk, char* const* args, npy_intp begin, npy_intp end) {
  if (!is_narrow(walk) || !run_narrow(loop, walk, args, begin, end)) run_rows(loop, walk, args, begin, end);
}

void run_walk(const Loop& loop, const Walk& walk, char* const* args, npy_intp size) {
  npy_intp rows = 1;
  for (int i = 1; i < walk.ndim; ++i) rows *= walk.shape[i];
  if (size < kGrain) {
    run_part(loop, walk, args, 0, rows);
  } else if (walk.ndim == 1) {
    run_large(loop, args, walk.count, size, walk.steps[0].data());
  } else {
    ReleaseGil without_gil;
    const npy_intp grain = std::max<npy_intp>(1, kGrain / walk.shape[0]);
    parallel_for(rows, grain, [&](npy_intp begin, npy_intp end) { run_part(loop, walk, args, begin, end); });
  }
}

}  // namespace

Ref run_loop(const Loop& loop, Operand* operands, int count, int type) {
  Walk walk;
  for (int k = 0; k < count; ++k) {
    if (operands[k].array != nullptr && !PyArray_ISALIGNED(operands[k].array)) return declined(kOddLayout);
  }
  if (!broadcast(walk, operands, count)) return declined(kOddLayout);
  int sorted[kMostDims];
  if (const char order = simple_order(operands, count); order != 0) {
    canonical_order(walk.ndim, order, sorted);
  } else {
    sort_walk(walk, operands, sorted);
  }
  PyArray_Descr* descr = PyArray_DescrFromType(loop.result);
  if (descr == nullptr) return Ref();
  npy_intp strides[kMostDims];
  lay_out(walk, sorted, PyDataType_ELSIZE(descr), strides);
  Ref out = new_result(descr, walk.ndim, walk.shape, strides);
  if (!out) return out;
  auto* result = reinterpret_cast<PyArrayObject*>(out.get());
  const npy_intp size = PyArray_SIZE(result);
  if (size == 0) return out;
  char* args[kMostOperands + 1];
  for (int k = 0; k < count; ++k) args[k] = operands[k].data(type);
  args[count] = PyArray_BYTES(result);
  walk.items[count] = PyArray_ITEMSIZE(result);
  for (int i = 0; i < walk.ndim; ++i) walk.steps[i][count] = strides[i];
  Walk joined;
  sort_and_join(walk, sorted, joined);
  Ref held[kMostOperands];
  for (int k = 0; k < count && size >= kGrain; ++k) {
    held[k] = Ref::borrow(reinterpret_cast<PyObject*>(operands[k].array));
  }
  run_walk(loop, joined, args, size);
  return out;
}

// -- kernels that look at their arguments first

int kernels_replaced = 0;

namespace {

// `condition ? a : b` for elements of one size, whatever they are.
template <class U>
struct Choose {
  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp* steps) {
    const char *c = args[0], *a = args[1], *b = args[2];
    char* out = args[3];
    constexpr npy_intp item = sizeof(U);
    if (steps[0] == 1 && steps[3] == item) {
      auto* to = reinterpret_cast<U*>(out);
      const auto *left = reinterpret_cast<const U*>(a), *right = reinterpret_cast<const U*>(b);
      if (steps[1] == item && steps[2] == item) {
        for (npy_intp i = 0; i < size; ++i) to[i] = c[i] != 0 ? left[i] : right[i];
        return;
      }
      if (steps[1] == item && steps[2] == 0) {
        const U single = *right;
        for (npy_intp i = 0; i < size; ++i) to[i] = c[i] != 0 ? left[i] : single;
        return;
      }
      if (steps[1] == 0 && steps[2] == item) {
        const U single = *left;
        for (npy_intp i = 0; i < size; ++i) to[i] = c[i] != 0 ? single : right[i];
        return;
      }
    }
    for (npy_intp i = 0; i < size; ++i, c += steps[0], a += steps[1], b += steps[2], out += steps[3]) {
      std::memcpy(out, *c != 0 ? a : b, sizeof(U));
    }
  }
};

template <class U>
const Loop* choose_loop(int type) {
  // One for each type number: they differ in the result alone.
  static const LoopFunction function = Generations<Choose<U>>::best();
  static Loop loops[24];
  if (loops[type].function == nullptr) loops[type] = {function, nullptr, type, true};
  return &loops[type];
}

}  // namespace

namespace kernels {

const Loop* where::loop(const int* types) {
  const int type = types[1];
  if (types[0] != NPY_BOOL || types[2] != type || type < 0 || type >= 24) return nullptr;
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  if (descr == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const bool known = std::strchr(takes::kAll, descr->type) != nullptr;
  const npy_intp size = PyDataType_ELSIZE(descr);
  Py_DECREF(descr);
  if (!known) return nullptr;
  switch (size) {
    case 1: return choose_loop<uint8_t>(type);
    case 2: return choose_loop<uint16_t>(type);
    case 4: return choose_loop<uint32_t>(type);
    case 8: return choose_loop<uint64_t>(type);
    case 16: return choose_loop<Wide>(type);
    default: return nullptr;
  }
}

Ref where(PyObject* condition, PyObject* self, PyObject* other) {
  Operand operands[3];
  operands[0].array = array_of(condition);
  if (detail::type_of(operands[0].array) != NPY_BOOL) return Ref();
  int type = -1;
  PyObject* given[] = {self, other};
  for (int i = 0; i < 2; ++i) {
    Operand& operand = operands[i + 1];
    if (!PyObject_TypeCheck(given[i], python.tensor_type)) {
      if (!operand.set(given[i])) return Ref();
      continue;
    }
    operand.array = array_of(given[i]);
    const int own = detail::type_of(operand.array);
    if (type != -1 && own != type) return Ref();
    type = own;
  }
  const bool has_number = operands[1].array == nullptr || operands[2].array == nullptr;
  if (has_number && type != NPY_FLOAT && type != NPY_DOUBLE) return Ref();
  const int types[] = {NPY_BOOL, type, type};
  const Loop* loop = where::loop(types);
  return loop == nullptr ? Ref() : run_loop(*loop, operands, 3, type);
}

Ref clamp(PyObject* self, PyObject* min, PyObject* max) {
  if (min == Py_None && max == Py_None) return Ref();
  if (max == Py_None) return binary_any<struct maximum>(self, min);
  if (min == Py_None) return binary_any<struct minimum>(self, max);
  const bool tensors = PyObject_TypeCheck(min, python.tensor_type) && PyObject_TypeCheck(max, python.tensor_type);
  return tensors ? elementwise<hardtanh, 3>(self, min, max) : elementwise<hardtanh, 1>(self, min, max);
}

namespace {

// 'e' or 't' for the two ways to compute gelu; 0 for what is none of them.
char approximation(PyObject* name) {
  if (!PyUnicode_Check(name)) return 0;
  if (PyUnicode_CompareWithASCIIString(name, "none") == 0) return 'e';
  return PyUnicode_CompareWithASCIIString(name, "tanh") == 0 ? 't' : 0;
}

}  // namespace

Ref gelu(PyObject* self, PyObject* approximate) {
  switch (approximation(approximate)) {
    case 'e': return unary<gelu_by_erf>(self);
    case 't': return unary<gelu_by_tanh>(self);
    default: return Ref();
  }
}

Ref gelu_backward(PyObject* grad_output, PyObject* self, PyObject* approximate) {
  switch (approximation(approximate)) {
    case 'e': return binary<gelu_backward_by_erf>(grad_output, self);
    case 't': return binary<gelu_backward_by_tanh>(grad_output, self);
    default: return Ref();
  }
}

Ref polygamma(PyObject* n, PyObject* self) {
  npy_intp order;
  if (!detail::read_int(n, &order)) return Ref();
  if (order == 0) return unary<digamma>(self);
  return order == 1 ? unary<trigamma>(self) : declined(kNoLoop);
}

Ref pow_tensor_scalar(PyObject* self, PyObject* exponent) {
  Operand power_of;
  if (!power_of.set(exponent)) return Ref();
  const double value = power_of.number.re;
  if (value == 2) return unary<square>(self);
  const int type = detail::type_of(array_of(self));
  if (type != NPY_FLOAT && type != NPY_DOUBLE) return Ref();
  if (value == 3) return unary<cube>(self);
  if (value == 0.5) return unary<sqrt>(self);
  if (value == -1) return unary<reciprocal>(self);
  if (value == -0.5) return unary<rsqrt>(self);
  return binary_scalar<power>(self, exponent);
}

}  // namespace kernels

}  // namespace gradwright
