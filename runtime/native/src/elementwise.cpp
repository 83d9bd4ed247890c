// Element-wise calls: laying results out, and walking operands of any strides.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "kernels.hpp"
#include "layouts.hpp"
#include "views.hpp"

namespace gradwright {

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
  return bypasses_cache(loop, bytes) ? loop.streaming : loop.function;
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

}  // namespace gradwright
