// The table of what is written in C++ for a function in Python. Each has a row, behind the place where it stands:
//
//   GRADWRIGHT_KERNEL(squareplus, 2, elements)
//
// The row says the name in Python, the number of operands, and facts, of which the first one is what it is. The
// compiler holds a row against what it finds, and the generator reads the same rows (codegen/read/kernel_table.py) and
// nothing else of C++: it holds them against the functions in Python.

#pragma once

#include <Python.h>

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

// Expands to what the first fact makes of the row.
#define GRADWRIGHT_KERNEL(name, operands, what, ...) \
  GRADWRIGHT_KERNEL_##what(name, operands, what __VA_OPT__(, ) __VA_ARGS__)

namespace gradwright {

class Ref;

// -- functions: their row declares them, too
//
//   tensors    a kernel, in `kernels`: of Tensors, numbers and tuples; it gives an array, or nothing
//   in_place   a kernel that writes the result into its first argument, in `writers`; it says whether it did
//   composite  an operator that is made of others, in `composites`; a second fact says why its entry in
//              native_functions.yaml is no formula, which both languages would be printed from
//   helper     a function that formulas call, in `helpers`

enum class Why {
  by_sizes,     // which operators it calls, or with what, goes by sizes, dimensions or lists of ints
  by_values,    // it goes by values of elements
  draws,        // it draws random numbers, or does nothing
  in_one_pass,  // it computes what operators would compute one after the other
};

namespace detail {

template <class Result, class Places>
struct FunctionOf;
template <class Result, size_t... places>
struct FunctionOf<Result, std::index_sequence<places...>> {
  template <size_t>
  using Operand = PyObject*;
  using type = Result(Operand<places>...);
};

}  // namespace detail

template <class Result, size_t operands>
using FunctionOf = typename detail::FunctionOf<Result, std::make_index_sequence<operands>>::type;

// Where the function has other operands there are two of its name, which no type can be asked of.
#define GRADWRIGHT_FUNCTION(space, name, operands, result)                                               \
  ::gradwright::FunctionOf<result, operands> name;                                                       \
  static_assert(                                                                                         \
      ::std::is_same_v<decltype(::gradwright::space::name), ::gradwright::FunctionOf<result, operands>>, \
      "the function is not what its row says");

#define GRADWRIGHT_KERNEL_tensors(name, operands, what) GRADWRIGHT_FUNCTION(kernels, name, operands, ::gradwright::Ref)
#define GRADWRIGHT_KERNEL_in_place(name, operands, what) GRADWRIGHT_FUNCTION(writers, name, operands, bool)
#define GRADWRIGHT_KERNEL_composite(name, operands, what, ...)                                   \
  __VA_OPT__(static_assert(::gradwright::Why::__VA_ARGS__ <= ::gradwright::Why::in_one_pass);) \
  GRADWRIGHT_FUNCTION(composites, name, operands, ::gradwright::Ref)
#define GRADWRIGHT_KERNEL_helper(name, operands, what) GRADWRIGHT_FUNCTION(helpers, name, operands, ::gradwright::Ref)

// -- functors, in `kernels`: the loops of loops.hpp are made of them

enum class Fact {
  // What it is; a functor with one of the first three may have loops of NumPy's, too.
  elements,       // `apply`, a function of elements
  choice,         // `choose`, one that takes or gives bools, which are numbers between two functions
  blocks,         // `block`, a function of blocks
  ufunc,          // `ufunc`, a function of NumPy
  ufunc_complex,  // one of which NumPy has loops of complex numbers
  // What else there is to say of it.
  vectors,       // it hands on how vectors.hpp computes
  bools,         // it gives bools
  only_float32,  // it is exact enough for float alone
  only_float64,  // it is for double alone: the loop for float is NumPy's
  also_complex,  // it is right for complex numbers, too
};

class Facts {
 public:
  constexpr Facts(std::initializer_list<Fact> facts = {}) {
    for (Fact fact : facts) bits_ |= 1u << static_cast<unsigned>(fact);
  }
  constexpr bool has(Fact fact) const { return (bits_ >> static_cast<unsigned>(fact) & 1) != 0; }

 private:
  unsigned bits_ = 0;
};

// A row is an overload of `facts_of` for the type that stands for its functor.
template <class F>
struct Functor {};

#define GRADWRIGHT_FUNCTOR(name, operands, ...)                                                       \
  constexpr ::gradwright::Facts facts_of(::gradwright::Functor<struct ::gradwright::kernels::name>) { \
    using enum ::gradwright::Fact;                                                                    \
    return {__VA_ARGS__};                                                                             \
  }                                                                                                   \
  static_assert(::gradwright::has_operands<struct ::gradwright::kernels::name>(operands),             \
                "the struct has other operands than its row says");                                   \
  static_assert(::gradwright::is_as_declared<struct ::gradwright::kernels::name>(),                   \
                "the struct is not what its row says: apply, choose, block, ufunc, a parameter A, and no for_complex");

#define GRADWRIGHT_KERNEL_elements(...) GRADWRIGHT_FUNCTOR(__VA_ARGS__)
#define GRADWRIGHT_KERNEL_choice(...) GRADWRIGHT_FUNCTOR(__VA_ARGS__)
#define GRADWRIGHT_KERNEL_blocks(...) GRADWRIGHT_FUNCTOR(__VA_ARGS__)
#define GRADWRIGHT_KERNEL_ufunc(...) GRADWRIGHT_FUNCTOR(__VA_ARGS__)
#define GRADWRIGHT_KERNEL_ufunc_complex(...) GRADWRIGHT_FUNCTOR(__VA_ARGS__)

}  // namespace gradwright
