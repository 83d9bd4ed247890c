// Steps of optimizers on arrays. Their rules are those of runtime/operators/update_rules.py, of which the generator makes loops.

#pragma once

#include <cstring>

#include "core.hpp"
#include "functors.hpp"
#include "loops.hpp"
#include "registry.hpp"

namespace gradwright {

constexpr int kMostArrays = 8, kMostOptions = 16, kMostNumbers = 16, kMostWays = 16;

// How many elements a rule goes through at a time: the blocks of all arrays and intermediate values fit into the nearest
// cache.
constexpr npy_intp kUpdateBlock = 512;

// A step of a rule: what it is made on, and the numbers that are the same for all elements.
struct UpdateStep {
  void* arrays[kMostArrays] = {};  // the gradient, the parameter, and what is kept; null for one that is left out
  double options[kMostOptions];
  double numbers[kMostNumbers] = {};  // those that elements meet
  bool ways[kMostWays] = {};          // which sides of conditions are taken
  bool raises = false;                // Python has an error, or a complex number, for what has no number

  // Python's signs for floats.
  double quotient(double a, double b) {
    raises |= b == 0;
    return a / b;
  }
  double power(double base, double exponent);

  template <class T>
  GRADWRIGHT_INLINE T* at(int array, npy_intp begin) const {
    return arrays[array] == nullptr ? nullptr : static_cast<T*>(arrays[array]) + begin;
  }
  // Elements into an array, if it is there.
  template <class T>
  GRADWRIGHT_INLINE void put(int array, npy_intp begin, const T* from, npy_intp count) const {
    T* to = at<T>(array, begin);
    if (to != nullptr && to != from) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  }
};

struct UpdateOption {
  const char* name;
  bool is_flag;    // True or False, and no number
  bool is_needed;  // it has no default
  double preset;
};

struct UpdateRule {
  const char* name;
  Table<bool> optional;  // for each array, whether it may be left out
  Table<UpdateOption> options;
  void (*prepare)(UpdateStep& step);
  void (*run_float)(const UpdateStep* step, npy_intp begin, npy_intp end);
  void (*run_double)(const UpdateStep* step, npy_intp begin, npy_intp end);
};

// Those of the generated code.
extern const Table<UpdateRule> update_rules;

// What loops of rules call, as NumPy does it: NaN stays.
template <class T>
GRADWRIGHT_INLINE T bounded(T value, T low, T high) {
  const T raised = value >= low || value != value ? value : low;
  return raised <= high || raised != raised ? raised : high;
}
// Both values are computed, so that there is nothing to branch for.
template <class T>
GRADWRIGHT_INLINE T chosen(bool condition, T yes, T no) {
  return condition ? yes : no;
}

// The names of the rules, in their order. Null, with an exception: memory is short.
PyObject* update_rule_names();

// A function of the module: update_step(rule's number, options, grad, *written). It gives True where the step was done,
// and False where Python is to do it: other element types than float32 and float64, arrays that are not contiguous or
// overlap, options that are none of the rule's or no floats and bools, numbers for which Python raises an error.
PyObject* update_step(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
