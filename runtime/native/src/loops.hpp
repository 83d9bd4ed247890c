// Inner loops of element-wise kernels: NumPy's own, and ones compiled here out of functions of single elements or of short
// blocks. All have the signature of NumPy's: pointers to the operands and the result, a count, and steps in bytes.
//
// What is compiled here exists several times, for the instructions of several generations of processors, and the best is
// chosen when the module is loaded. All give the same results, but for functions of vectors.hpp on processors that can not
// multiply and add in one step: nothing is contracted or reordered.

#pragma once

#include "complex.hpp"
#include "core.hpp"
#include "streaming.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__GNUC__) || defined(__clang__)
#define GRADWRIGHT_INLINE inline __attribute__((always_inline))
#define GRADWRIGHT_FLATTEN __attribute__((flatten))
#else
#define GRADWRIGHT_INLINE inline
#define GRADWRIGHT_FLATTEN
#endif

// Before a loop each of whose steps reads what is at its own place alone: the result may be an operand. Compilers would
// test for that, and leave the vectors out where it is so.
#if defined(__clang__)
#define GRADWRIGHT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define GRADWRIGHT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define GRADWRIGHT_INDEPENDENT
#endif

namespace gradwright {

// The most operands of a loop, its result not counted.
constexpr int kMostOperands = 8;

// Elements of a block: what a loop keeps between two steps stays in the nearest cache.
constexpr npy_intp kBlockBytes = 4096;
template <class T>
constexpr npy_intp kBlock = kBlockBytes / sizeof(T);

using LoopFunction = void (*)(char** args, const npy_intp* size, const npy_intp* steps, void* data);

// Sixteen bytes that are moved as they are.
struct Wide {
  uint64_t parts[2];
};

template <class T>
constexpr int kTypeNumber = std::is_same_v<T, float> ? NPY_FLOAT : NPY_DOUBLE;
template <>
inline constexpr int kTypeNumber<Complex<float>> = NPY_CFLOAT;
template <>
inline constexpr int kTypeNumber<Complex<double>> = NPY_CDOUBLE;

struct Loop {
  LoopFunction function = nullptr;
  void* data = nullptr;
  int result = NPY_NOTYPE;  // NumPy's number of the result's element type
  bool in_place = true;     // the result may be an operand
  // The same around the caches, where there is such a loop: the result is dense, and no operand; operands are dense or
  // single elements. To be followed by end_streaming() before another thread reads the result.
  LoopFunction streaming = nullptr;
};

// -- NumPy's

// Which element types a kernel takes.
namespace takes {
constexpr const char* kReal = "?bBhHiIlLqQefd";
constexpr const char* kNumbers = "bBhHiIlLqQefdFD";
constexpr const char* kFloats = "efd";
constexpr const char* kFloatsAndComplex = "efdFD";
constexpr const char* kAll = "?bBhHiIlLqQefdFD";
}  // namespace takes

// The loops of one ufunc for operands of one element type.
class GRADWRIGHT_SHARED Ufunc {
 public:
  constexpr Ufunc(const char* name, int operands, const char* takes = takes::kAll)
      : name_(name), takes_(takes), operands_(operands) {}
  // Let it be looked up with the others.
  bool enlist() {
    if (is_enlisted_) return true;
    next_ = std::exchange(all_, this);
    found_ = quick_ = false;  // an extension brings its own when others have been found
    return is_enlisted_ = true;
  }
  // Null where there is none. Needs the GIL: the first call looks all ufuncs up, and watchers are told.
  const Loop* loop(int type) const {
    if (!quick_) announce();
    return found(type);
  }
  // The same of what was looked up before.
  const Loop* found(int type) const {
    const bool known = type >= 0 && type < kTypes && loops_[type].function != nullptr;
    return known ? &loops_[type] : nullptr;
  }
  static void find_once() {
    if (!found_) find_all();
  }
  // Somebody begins or ends to watch.
  static void watch_changes() { quick_ = false; }

 private:
  static constexpr int kTypes = 24;  // those that NumPy has of its own
  static void announce();
  static void find_all();
  void find(PyObject* numpy);

  const char* name_;
  const char* takes_;
  int operands_;
  bool is_enlisted_ = false;
  Ufunc* next_ = nullptr;
  Loop loops_[kTypes] = {};
  static Ufunc* all_;
  static bool found_;
  static bool quick_;  // they are found, and nobody watches
};

template <class F>
concept IsUfunc = requires { F::ufunc; };

// Those whose loops are called are enlisted when the module is loaded; the others cost nothing.
template <class F>
inline const bool is_enlisted = F::ufunc.enlist();

// NumPy's function on a block. Its loops were found before, when there was the GIL.
template <class F, class T>
GRADWRIGHT_INLINE void by_numpy(const T* in, T* out, npy_intp size) {
  static_cast<void>(&is_enlisted<F>);
  const Loop* loop = F::ufunc.found(kTypeNumber<T>);
  char* args[] = {reinterpret_cast<char*>(const_cast<T*>(in)), reinterpret_cast<char*>(out)};
  const npy_intp steps[] = {sizeof(T), sizeof(T)};
  loop->function(args, &size, steps, loop->data);
}

// -- ours

// How functions of vectors.hpp compute a * b + c: with two roundings, or with one where processors do that in one step.
struct Separate {
  template <class T>
  static GRADWRIGHT_INLINE T multiply_add(T a, T b, T c) { return a * b + c; }
};
struct Joined {
  static GRADWRIGHT_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static GRADWRIGHT_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
using Baseline = Joined;
#else
using Baseline = Separate;
#endif

// A function of elements, `static T apply(T a, T b)`, or of blocks, `static void block(const T* a, T* out, npy_intp size)`,
// whose result is no operand; both for float and double. One that calls functions of vectors.hpp has a second parameter,
// `template <class T, class A = Baseline>`, and hands it on.
template <class F>
concept IsPointwise = requires { &F::template apply<float>; };
template <class F>
concept IsBlock = requires { &F::template block<float>; };
// A function of elements that takes or gives bools, `static T choose(T condition, T a, T b)`, within other functions.
template <class F>
concept IsChoice = requires { &F::template choose<float>; };

// What its row in the table of kernels says of a functor; nothing of one that has none.
template <class F>
constexpr Facts facts() {
  if constexpr (requires { facts_of(Functor<F>()); }) {
    return facts_of(Functor<F>());
  } else if constexpr (requires { typename F::ForReal; }) {
    return facts<typename F::ForReal>();
  } else {
    return {};
  }
}

namespace detail {

template <class R, class... Args>
constexpr int count_parameters(R (*)(Args...)) {
  return sizeof...(Args);
}

template <class F>
constexpr int operands_of() {
  if constexpr (requires { F::kOperands; }) {
    return F::kOperands;
  } else if constexpr (IsPointwise<F>) {
    return count_parameters(&F::template apply<float>);
  } else if constexpr (IsBlock<F>) {
    return count_parameters(&F::template block<float>) - 2;
  } else {
    return -1;
  }
}

template <class T>
GRADWRIGHT_INLINE T read(const char* from) {
  return *reinterpret_cast<const T*>(from);
}

template <class F, class T, class A, class... Args>
GRADWRIGHT_INLINE T call(Args... args) {
  if constexpr (requires { F::template apply<T, A>(args...); }) {
    return F::template apply<T, A>(args...);
  } else {
    return F::template apply<T>(args...);
  }
}

// Dense operands into a dense result. The last `singles` operands are single elements.
template <class F, class T, class A, int singles, size_t... index>
GRADWRIGHT_INLINE void run_dense(const T* const* in, T* out, npy_intp size, std::index_sequence<index...>) {
  if constexpr (singles > 0) {
    constexpr size_t dense = sizeof...(index) - singles;
    const T last[] = {*in[index]...};
    GRADWRIGHT_INDEPENDENT
    for (npy_intp i = 0; i < size; ++i) out[i] = call<F, T, A>((index < dense ? in[index][i] : last[index])...);
  } else if constexpr (IsPointwise<F>) {
    GRADWRIGHT_INDEPENDENT
    for (npy_intp i = 0; i < size; ++i) out[i] = call<F, T, A>(in[index][i]...);
  } else if constexpr (requires { F::template block<T, A>(in[index]..., out, size); }) {
    F::template block<T, A>(in[index]..., out, size);
  } else {
    F::template block<T>(in[index]..., out, size);
  }
}

// Whether a function hands on how functions of vectors.hpp compute; then it is long.
template <class F>
concept CallsVectors = requires { &F::template apply<float, Baseline>; };

// Whether there is one loop alone for a function. A long one is compiled once for each type and generation, and operands
// that lie in another way are copied for it, which takes no time beside it.
template <class F>
constexpr bool has_one_loop() {
  return !IsPointwise<F> || operands_of<F>() > 2 || CallsVectors<F> || requires { F::one_loop; };
}

// How many operands, the last ones, are single elements for a function with one loop: those behind the leading ones, where
// it says how many these are.
template <class F>
constexpr int singles_of() {
  if constexpr (IsPointwise<F> && has_one_loop<F>() && requires { F::kLeading; }) {
    return operands_of<F>() - F::kLeading;
  } else {
    return 0;
  }
}

// A loop of ours as the loops below call it, which hold no arithmetic and so are the same for all functions. Loops of
// ours have one as their `data`.
struct OwnBody {
  LoopFunction function;
  int operands;
  int singles;    // the last ones, which are to be single elements
  bool one_loop;  // the others are to be dense; else all may lie anywhere
};

// Over operands of `item` bytes that lie anywhere: what is not dense is copied into a block, once for all where it is a
// single element.
GRADWRIGHT_SHARED void run_in_blocks(const OwnBody& body, size_t item, char** args, npy_intp size,
                                     const npy_intp* steps);

// Around the caches, see Loop::streaming; `data` is an OwnBody. The type is NumPy's number of float or double.
GRADWRIGHT_SHARED LoopFunction streaming_loop(int type);

inline bool are_all(const npy_intp* steps, int count, npy_intp step) {
  for (int k = 0; k < count; ++k) {
    if (steps[k] != step) return false;
  }
  return true;
}

template <class F, class T, class A>
struct Body {
  static constexpr int kOperands = operands_of<F>(), kSingles = singles_of<F>(), kDense = kOperands - kSingles;
  static constexpr auto kIndices = std::make_index_sequence<kOperands>();

  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp* steps, void* data) {
    constexpr npy_intp kItem = sizeof(T);
    const T* in[kOperands];
    for (int k = 0; k < kOperands; ++k) in[k] = reinterpret_cast<const T*>(args[k]);
    T* out = reinterpret_cast<T*>(args[kOperands]);
    const bool is_dense = are_all(steps, kDense, kItem) && steps[kOperands] == kItem;
    if constexpr (has_one_loop<F>()) {
      if (is_dense && are_all(steps + kDense, kSingles, 0) && (IsPointwise<F> || size <= kBlock<T>)) {
        if (size > 0) run_dense<F, T, A, kSingles>(in, out, size, kIndices);
      } else {
        run_in_blocks(*static_cast<const OwnBody*>(data), sizeof(T), args, size, steps);
      }
    } else if (is_dense) {
      run_dense<F, T, A, kSingles>(in, out, size, kIndices);
    } else if (!takes_number(steps, out, in, size)) {
      run_strided(args, size, steps, kIndices);
    }
  }

  // One element after another: for a short function that is quicker than to copy them.
  template <size_t... index>
  static GRADWRIGHT_INLINE void run_strided(char** args, npy_intp size, const npy_intp* steps,
                                            std::index_sequence<index...>) {
    const char* in[] = {args[index]...};
    char* out = args[kOperands];
    for (npy_intp i = 0; i < size; ++i, out += steps[kOperands]) {
      *reinterpret_cast<T*>(out) = call<F, T, A>(read<T>(in[index])...);
      ((in[index] += steps[index]), ...);
    }
  }

  // Whether one of two operands is a single element, and the other one is dense; the loop has then run.
  static GRADWRIGHT_INLINE bool takes_number(const npy_intp* steps, T* out, const T* const* in, npy_intp size) {
    if constexpr (kOperands == 2) {
      if (size <= 0 || steps[kOperands] != sizeof(T)) return false;
      if (steps[0] == sizeof(T) && steps[1] == 0) {
        const T right = *in[1];
        GRADWRIGHT_INDEPENDENT
        for (npy_intp i = 0; i < size; ++i) out[i] = call<F, T, A>(in[0][i], right);
        return true;
      }
      if (steps[0] == 0 && steps[1] == sizeof(T)) {
        const T left = *in[0];
        GRADWRIGHT_INDEPENDENT
        for (npy_intp i = 0; i < size; ++i) out[i] = call<F, T, A>(left, in[1][i]);
        return true;
      }
    }
    return false;
  }
};

}  // namespace detail

// The best instructions that this processor has of those that loops are compiled for: 0 for what all have. The environment
// variable GRADWRIGHT_CPU lowers it ("baseline", "avx2").
int cpu_generation();

// A body for each generation of processors. All that it calls is made part of it: a function that stays one of its own is
// compiled for the oldest generation, and called for each element.
//
// `Newer` is the body of those that multiply and add in one step.
template <class Body, class Newer = Body>
struct Generations {
  GRADWRIGHT_FLATTEN static void baseline(char** args, const npy_intp* size, const npy_intp* steps, void* data) {
    Body::run(args, *size, steps, data);
  }
#ifdef GRADWRIGHT_X86
  GRADWRIGHT_FLATTEN
  __attribute__((target("avx2,fma"))) static void avx2(char** args, const npy_intp* size, const npy_intp* steps,
                                                       void* data) {
    Newer::run(args, *size, steps, data);
  }
  GRADWRIGHT_FLATTEN __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))) static void avx512(
      char** args, const npy_intp* size, const npy_intp* steps, void* data) {
    Newer::run(args, *size, steps, data);
  }
  static LoopFunction best() {
    constexpr LoopFunction bodies[] = {baseline, avx2, avx512};
    return bodies[cpu_generation()];
  }
#else
  static LoopFunction best() { return baseline; }
#endif
};

template <class F, class T>
inline const detail::OwnBody own_body = {
    Generations<detail::Body<F, T, Baseline>, detail::Body<F, T, Joined>>::best(), detail::operands_of<F>(),
    detail::singles_of<F>(), detail::has_one_loop<F>()};

template <class F, class T>
inline const Loop own_loop = {
    Generations<detail::Body<F, T, Baseline>, detail::Body<F, T, Joined>>::best(),
    const_cast<detail::OwnBody*>(&own_body<F, T>), kTypeNumber<T>, !IsBlock<F>,
    kCanStream && IsPointwise<F> && !kIsComplex<T> ? detail::streaming_loop(kTypeNumber<T>) : nullptr};

// A function of which there is another one for complex numbers.
template <class F, class C>
struct WithComplex : F {
  using ForReal = F;
  using ForComplex = C;
};

// The table of kernels says which functions are exact enough for float alone, whose loop for float is NumPy's, and
// which are for complex numbers, too; one that has no row says so itself, or that it is for nothing but complex
// numbers. Where NumPy has a loop for complex numbers, that is taken.
template <class F, class T>
constexpr bool takes_type() {
  constexpr bool also_complex = facts<F>().has(Fact::also_complex) || requires { F::for_complex; };
  if constexpr (kIsComplex<T>) return !IsUfunc<F> && (also_complex || requires { F::only_complex; });
  if constexpr (requires { F::only_complex; }) return false;
  if constexpr (requires { F::only_float; }) return !F::only_float || std::is_same_v<T, float>;
  if constexpr (facts<F>().has(Fact::only_float32)) return std::is_same_v<T, float>;
  if constexpr (facts<F>().has(Fact::only_float64)) return std::is_same_v<T, double>;
  return true;
}

// Whether a row is right: its number of operands, which a function of NumPy alone does not show, and its facts, which
// the struct does not say in its own way.
template <class F>
constexpr bool has_operands(int operands) {
  if constexpr (IsChoice<F>) {
    return operands == detail::count_parameters(&F::template choose<float>);
  } else {
    return detail::operands_of<F>() == operands || (detail::operands_of<F>() < 0 && IsUfunc<F>);
  }
}
template <class F>
constexpr bool is_as_declared() {
  constexpr Facts known = facts<F>();
  constexpr bool hands_on = detail::CallsVectors<F> || requires { &F::template block<float, Baseline>; };
  if constexpr (requires { F::for_complex; } || requires { F::only_float; }) return false;
  return known.has(Fact::elements) == IsPointwise<F> && known.has(Fact::choice) == IsChoice<F> &&
         known.has(Fact::blocks) == IsBlock<F> && known.has(Fact::vectors) == hands_on &&
         (known.has(Fact::ufunc) || known.has(Fact::ufunc_complex)) == IsUfunc<F>;
}

// The loop of a kernel for operands of one element type; null where there is none. Generated code has those of its functors
// in files of their own, and declares them where they are called.
template <class F>
const Loop* loop_of(int type) {
  if constexpr (requires { typename F::ForComplex; }) {
    if (type == NPY_CFLOAT || type == NPY_CDOUBLE) return loop_of<typename F::ForComplex>(type);
  }
  if constexpr (IsBlock<F>) Ufunc::find_once();
  if constexpr (IsPointwise<F> || IsBlock<F>) {
    if constexpr (takes_type<F, float>()) {
      if (type == NPY_FLOAT) return &own_loop<F, float>;
    }
    if constexpr (takes_type<F, double>()) {
      if (type == NPY_DOUBLE) return &own_loop<F, double>;
    }
    if constexpr (takes_type<F, Complex<float>>()) {
      if (type == NPY_CFLOAT) return &own_loop<F, Complex<float>>;
      if (type == NPY_CDOUBLE) return &own_loop<F, Complex<double>>;
    }
  }
  if constexpr (IsUfunc<F>) {
    static_cast<void>(&is_enlisted<F>);
    return F::ufunc.loop(type);
  } else {
    return nullptr;
  }
}

}  // namespace gradwright
