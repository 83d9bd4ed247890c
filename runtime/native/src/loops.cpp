// Loops are found here: those of NumPy's functions, and the generation of processors that those of ours are for.

#include "loops.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gradwright_ufunc
#include <numpy/ufuncobject.h>

#include "observe.hpp"

namespace gradwright {

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

// -- ours, over operands that lie anywhere, and around the caches

namespace detail {

namespace {

template <size_t item>
void copy(char* to, npy_intp to_step, const char* from, npy_intp from_step, npy_intp size) {
  for (npy_intp i = 0; i < size; ++i, to += to_step, from += from_step) std::memcpy(to, from, item);
}

template <class T, bool in_halves>
struct Streaming {
  static constexpr npy_intp kItem = sizeof(T), kLine = kLineBytes / kItem;

  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp* steps, void* data) {
    const auto& body = *static_cast<const OwnBody*>(data);
    const int last = body.operands;
    alignas(kLineBytes) char block[kStreamedBytes], singles[kMostOperands][kStreamedBytes];
    char* from[kMostOperands + 1];
    npy_intp moves[kMostOperands + 1];
    std::copy_n(args, last + 1, from);
    std::copy_n(steps, last + 1, moves);
    const bool knows = last <= 2 || (are_all(steps, body.leading, kItem) &&
                                     are_all(steps + body.leading, last - body.leading, 0));
    for (int k = 0; k < last && !knows; ++k) {
      if (steps[k] != 0) continue;
      copy<sizeof(T)>(singles[k], kItem, args[k], 0, kStreamedBytes / kItem);
      from[k] = singles[k];
      moves[k] = kItem;
    }
    char* out = args[last];
    const auto compute = [&](npy_intp count, char* to) {
      from[last] = to;
      if (count > 0) body.function(from, &count, moves, data);
      for (int k = 0; k < last; ++k) from[k] += count * steps[k];
      out += count * kItem;
      size -= count;
    };
    const auto before = static_cast<npy_intp>(-reinterpret_cast<uintptr_t>(out) % kLineBytes / kItem);
    compute(std::min(size, before), out);
    while (size >= kLine) {
      char* to = out;
      const npy_intp count = std::min(size, kStreamedBytes / kItem) / kLine * kLine;
      compute(count, block);
      for (npy_intp i = 0; i < count * kItem; i += kLineBytes) stream_line<in_halves>(to + i, block + i);
    }
    compute(size, out);
  }
};

}  // namespace

template <size_t item>
void run_in_blocks(const OwnBody& body, char** args, npy_intp size, const npy_intp* steps) {
  constexpr npy_intp kItem = item, kSize = kBlockBytes / kItem;
  if (size <= 0) return;
  const int last = body.operands;
  alignas(64) char copies[kMostOperands + 1][kBlockBytes];
  char* from[kMostOperands + 1];
  npy_intp moves[kMostOperands + 1];
  std::fill_n(moves, last + 1, kItem);
  for (int k = 0; k <= last; ++k) {
    from[k] = copies[k];
    if (k < last && steps[k] == 0) copy<item>(copies[k], kItem, args[k], 0, std::min(size, kSize));
  }
  for (npy_intp start = 0; start < size; start += kSize) {
    const npy_intp count = std::min(kSize, size - start);
    for (int k = 0; k <= last; ++k) {
      char* operand = args[k] + start * steps[k];
      if (steps[k] == kItem) {
        from[k] = operand;
      } else if (k < last && steps[k] != 0) {
        copy<item>(copies[k], kItem, operand, steps[k], count);
      }
    }
    body.function(from, &count, moves, const_cast<OwnBody*>(&body));
    if (steps[last] != kItem) copy<item>(args[last] + start * steps[last], steps[last], copies[last], kItem, count);
  }
}

template void run_in_blocks<4>(const OwnBody&, char**, npy_intp, const npy_intp*);
template void run_in_blocks<8>(const OwnBody&, char**, npy_intp, const npy_intp*);
template void run_in_blocks<16>(const OwnBody&, char**, npy_intp, const npy_intp*);

template <class T>
LoopFunction streaming_loop() {
  return Generations<Streaming<T, false>, Streaming<T, true>>::best();
}

template LoopFunction streaming_loop<float>();
template LoopFunction streaming_loop<double>();

}  // namespace detail

}  // namespace gradwright
