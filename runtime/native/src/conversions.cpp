#include "conversions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>

#include "copies.hpp"
#include "kernels.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

struct Float16 {
  // The exponent is counted from another bias: a product with a power of two moves it, and makes subnormal numbers normal.
  static GRADWRIGHT_INLINE float widen(uint16_t half) {
    const uint32_t rest = static_cast<uint32_t>(half & 0x7fff) << 13, sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t moved = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112f);
    return std::bit_cast<float>(moved | sign | (rest >= 0x0f800000 ? 0x7f800000 : 0));
  }
  static GRADWRIGHT_INLINE uint16_t round(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), size = bits & 0x7fffffff;
    const uint32_t normal = (size + 0xfff + ((size >> 13) & 1) - (uint32_t{112} << 23)) >> 13;
    // The sum with 1/2 has the units of subnormal numbers.
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;
    const uint32_t payload = (size >> 13) & 0x3ff, nan = 0x7c00 | (payload != 0 ? payload : 1);
    const uint32_t finite = size < (uint32_t{113} << 23) ? subnormal : normal;
    const uint32_t number = size >= 0x47800000 ? 0x7c00 : finite;
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | (size > 0x7f800000 ? nan : number));
  }
};

struct BFloat16 {
  static GRADWRIGHT_INLINE float widen(uint16_t half) {
    return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
  }
  static GRADWRIGHT_INLINE uint16_t round(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
};

template <class Half>
struct Widening {
  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp*, void*) {
    const auto* in = reinterpret_cast<const uint16_t*>(args[0]);
    auto* out = reinterpret_cast<float*>(args[1]);
    GRADWRIGHT_INDEPENDENT
    for (npy_intp i = 0; i < size; ++i) out[i] = Half::widen(in[i]);
  }
};
template <class Half>
struct Rounding {
  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp*, void*) {
    const auto* in = reinterpret_cast<const float*>(args[0]);
    auto* out = reinterpret_cast<uint16_t*>(args[1]);
    GRADWRIGHT_INDEPENDENT
    for (npy_intp i = 0; i < size; ++i) out[i] = Half::round(in[i]);
  }
};

template <class From, class To>
void convert(char** args, const npy_intp* size, const npy_intp*, void*) {
  const auto* in = reinterpret_cast<const From*>(args[0]);
  auto* out = reinterpret_cast<To*>(args[1]);
  GRADWRIGHT_INDEPENDENT
  for (npy_intp i = 0; i < *size; ++i) out[i] = static_cast<To>(in[i]);
}

// The element types that are converted into each other as C++ does it, and NumPy's numbers for them.
using Types = std::tuple<bool, int8_t, uint8_t, int16_t, int32_t, long, float, double>;
constexpr int kNumbers[] = {NPY_BOOL, NPY_BYTE, NPY_UBYTE, NPY_SHORT, NPY_INT, NPY_LONG, NPY_FLOAT, NPY_DOUBLE};
constexpr size_t kCount = std::size(kNumbers);

template <size_t from, size_t... to>
constexpr std::array<LoopFunction, kCount> from_one(std::index_sequence<to...>) {
  return {convert<std::tuple_element_t<from, Types>, std::tuple_element_t<to, Types>>...};
}
template <size_t... from>
constexpr std::array<std::array<LoopFunction, kCount>, kCount> from_all(std::index_sequence<from...> all) {
  return {from_one<from>(all)...};
}

template <class Half>
LoopFunction of_half(bool widens) {
  static const LoopFunction widening = Generations<Widening<Half>>::best(),
                            rounding = Generations<Rounding<Half>>::best();
  return widens ? widening : rounding;
}

// Null where there is none.
LoopFunction loop_between(PyArray_Descr* from, PyArray_Descr* to) {
  const bool widens = is_half(from) && to->type_num == NPY_FLOAT;
  if (widens || (is_half(to) && from->type_num == NPY_FLOAT)) {
    return (widens ? from : to)->type_num == NPY_HALF ? of_half<Float16>(widens) : of_half<BFloat16>(widens);
  }
  static constexpr auto loops = from_all(std::make_index_sequence<kCount>());
  const auto *begin = std::begin(kNumbers), *end = std::end(kNumbers);
  const auto *before = std::find(begin, end, from->type_num), *after = std::find(begin, end, to->type_num);
  return before == end || after == end ? nullptr : loops[before - begin][after - begin];
}

// Whether the elements of both lie in the same order, and without gaps in `made`, which is a new array.
bool lie_alike(PyArrayObject* array, PyArrayObject* made) {
  const npy_intp item = PyArray_ITEMSIZE(array), other = PyArray_ITEMSIZE(made);
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_DIM(array, i) > 1 && PyArray_STRIDE(array, i) * other != PyArray_STRIDE(made, i) * item) return false;
  }
  return true;
}

}  // namespace

bool is_half(PyArray_Descr* dtype) {
  const int type = dtype->type_num;
  return (type == NPY_HALF || type >= NPY_USERDEF) && PyDataType_ELSIZE(dtype) == 2 && PyArray_ISNBO(dtype->byteorder);
}

Ref converted(PyArrayObject* array, PyArray_Descr* dtype) {
  const LoopFunction loop = loop_between(PyArray_DESCR(array), dtype);
  if (loop == nullptr || !PyArray_ISBEHAVED_RO(array) || !PyArray_ISNBO(dtype->byteorder)) return Ref();
  Py_INCREF(dtype);
  const bool dense = is_dense(array);
  Ref out = dense ? new_array(dtype, PyArray_NDIM(array), PyArray_DIMS(array))
                  : Ref(PyArray_NewLikeArray(array, NPY_KEEPORDER, dtype, 0));
  if (!out) return out;
  Ref from = Ref::borrow(reinterpret_cast<PyObject*>(array));
  if (!dense && !lie_alike(array, as_ndarray(out))) {
    from = new_array_like(array);
    if (!from || !copy_array(array, as_ndarray(from))) return Ref();
  }
  const npy_intp size = PyArray_SIZE(array), item_before = PyArray_ITEMSIZE(array), item = PyDataType_ELSIZE(dtype);
  char *in = PyArray_BYTES(as_ndarray(from)), *to = PyArray_BYTES(as_ndarray(out));
  ReleaseGil released(size >= kGrain);
  parallel_for(size, kGrain, [=](npy_intp begin, npy_intp end) {
    char* args[] = {in + begin * item_before, to + begin * item};
    const npy_intp count = end - begin;
    loop(args, &count, nullptr, nullptr);
  });
  return out;
}

namespace kernels {

Ref to_copy(PyObject* self, PyObject* dtype) {
  PyArrayObject* array = array_of(self);
  auto* wanted = reinterpret_cast<PyArray_Descr*>(dtype);
  if (dtype != Py_None && wanted != PyArray_DESCR(array)) return converted(array, wanted);
  Ref out = is_movable(array) ? new_array_like(array) : Ref();
  return out && copy_array(array, as_ndarray(out)) ? std::move(out) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
