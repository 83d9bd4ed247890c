// Formulas of element-wise kernels as one loop: one function of elements where all kernels are such; else every step runs on
// a block that stays in the cache.

#pragma once

#include <vector>

#include "kernels.hpp"

namespace gradwright {

// One kernel of a formula, and the slots of its operands and its result. Slots: the Tensors, then the numbers, then
// temporaries.
struct Step {
  const Loop* (*loop)(const int* types);
  int count;
  signed char operands[4];
  signed char result;
};

namespace detail {

struct Work;

}  // namespace detail

// Loops of the formulas of one Node, which wait for each other where they are large: what all of them read, as the gradient,
// comes from memory once. What is to be written is not, until finish(); without it nothing is computed.
class InterleavedFormulas {
 public:
  // With the gradient, which lives longer.
  explicit InterleavedFormulas(PyObject* gradient) : gradient_(gradient) {}
  ~InterleavedFormulas() {
    if (works_ != nullptr) forget();
  }
  InterleavedFormulas(const InterleavedFormulas&) = delete;
  InterleavedFormulas& operator=(const InterleavedFormulas&) = delete;

  PyObject* gradient() const { return gradient_; }
  void add(detail::Work&& work);
  void finish() {
    if (works_ != nullptr) run();
  }

 private:
  void run();
  void forget();

  PyObject* gradient_;
  std::vector<detail::Work>* works_ = nullptr;
};

namespace detail {

// The generator keeps to these.
constexpr int kMostSteps = 16;
constexpr int kMostSlots = 16;
constexpr int kMostTemporaries = 6;

template <class F, int count>
const Loop* step_loop(const int* types) {
  if constexpr (requires { F::loop(types); }) {
    return F::loop(types);
  } else {
    for (int i = 1; i < count; ++i) {
      if (types[i] != types[0]) return nullptr;
    }
    return loop_of<F>(types[0]);
  }
}

// The loop of a formula that is one function of elements, for its element type; null where there is none.
using JointLoop = const Loop* (*)(int type);

}  // namespace detail

// Whether a plain Tensor, without history, is the caller's alone with all its memory.
inline bool is_private(PyObject* tensor) {
  PyArrayObject* array = array_of(tensor);
  return Py_REFCNT(tensor) == 1 && Py_REFCNT(array) == 1 && PyArray_BASE(array) == nullptr &&
         PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) && as_tensor(tensor)->edge == Py_None &&
         as_tensor(tensor)->extra == Py_None;
}

// One kernel, in generated code.
template <class F, int result, int... operands>
struct Part {
  static_assert(sizeof...(operands) <= 4);
  using Kernel = F;
  static constexpr int kCount = sizeof...(operands);
  static constexpr Step kStep = {detail::step_loop<F, kCount>, kCount, {operands...}, result};

  // Whether it can be a part of a function of elements. A choice there is between numbers, of which 0 is false.
  static constexpr bool is_pointwise() {
    if constexpr (IsChoice<F>) return true;
    if constexpr (IsPointwise<F>) return detail::operands_of<F>() == kCount;
    return false;
  }
  static constexpr bool kGivesBool = facts<F>().has(Fact::bools);

  template <class T, class A>
  static GRADWRIGHT_INLINE void run(T* slots) {
    if constexpr (requires { &F::template choose<T>; }) {
      slots[result] = F::template choose<T>(slots[operands]...);
    } else {
      slots[result] = detail::call<F, T, A>(slots[operands]...);
    }
  }
  template <class T, class A>
  static GRADWRIGHT_INLINE T last(const T* slots) { return slots[result]; }
};

namespace detail {

template <class T, class... Parts>
constexpr bool all_take() {
  return (takes_type<typename Parts::Kernel, T>() && ...);
}

template <class Last, class... Others>
constexpr bool last_gives_bool() {
  if constexpr (sizeof...(Others) == 0) {
    return Last::kGivesBool;
  } else {
    return last_gives_bool<Others...>();
  }
}

// The kernels as one function of elements, of Tensors and the numbers behind them: nothing between them goes to memory.
template <int tensors, int given, class... Parts>
struct Chain {
  static constexpr int kOperands = given, kLeading = tensors;
  static constexpr bool only_float = !all_take<double, Parts...>(), one_loop = true;

  template <class T, class A = Baseline, class... Args>
  static T apply(Args... args) {
    T slots[kMostSlots] = {args...};
    (Parts::template run<T, A>(slots), ...);
    T out{};
    ((out = Parts::template last<T, A>(slots)), ...);
    return out;
  }
};

template <int tensors, int given, class... Parts>
constexpr JointLoop joint_loop() {
  constexpr bool fits = sizeof...(Parts) > 1 && given <= kMostOperands && (Parts::is_pointwise() && ...);
  if constexpr (fits && !last_gives_bool<Parts...>()) return loop_of<Chain<tensors, given, Parts...>>;
  return nullptr;
}

}  // namespace detail

// A formula over Tensors of one shape, and numbers after them, by its kernels in the order of computation.
//
// run() gives a Tensor without history, or null without an exception where its statements have to be run: where one of
// these would record, where dtypes differ or shapes broadcast.
//
// `donated`: the slot of the gradient, where no formula after this one reads it; else -1. Its memory then becomes the
// result's, if nobody else can read it. A formula of one kernel is worth it for that alone, and where it is large; or where
// others of the Node wait for it.
struct FormulaTable {
  const Step* steps;
  int count;
  int tensors;
  int numbers;
  detail::JointLoop joint;  // null where there is none

  template <class... Args>
  Ref run(int donated, Args... args) const {
    PyObject* const given[] = {args...};
    return run_with(donated, given, nullptr);
  }
  template <class... Args>
  Ref run(InterleavedFormulas& interleaved, int donated, Args... args) const {
    PyObject* const given[] = {args...};
    return run_with(donated, given, &interleaved);
  }

 private:
  Ref run_with(int donated, PyObject* const* given, InterleavedFormulas* interleaved) const;
};

namespace detail {

template <class... Parts>
inline constexpr Step steps_of[] = {Parts::kStep...};

}  // namespace detail

template <int tensors, int numbers, class... Parts>
inline constexpr FormulaTable formula_table = {detail::steps_of<Parts...>, sizeof...(Parts), tensors, numbers,
                                               detail::joint_loop<tensors, tensors + numbers, Parts...>()};

}  // namespace gradwright
