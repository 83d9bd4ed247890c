// The words that generated code is made of, besides operators: the tests of the fast path, what formulas ask of
// Tensors and numbers, and what Nodes do with saved state.
//
// A function that gives a Ref gives null with an exception set where it fails; PyObject* results are borrowed.

#pragma once

#include <algorithm>
#include <type_traits>

#include "core.hpp"
#include "registry.hpp"
#include "sharing.hpp"

namespace gradwright {

// -- calling

template <class... Args>
Ref invoke(PyObject* function, Args... args) {
  PyObject* values[] = {nullptr, args...};
  return Ref(PyObject_Vectorcall(function, values + 1,
                                 sizeof...(args) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

// Record a call with a Node of Python. False, with an exception, where it fails.
template <class... Args>
bool record_in_python(Recorder& recorder, Args... args) {
  if (recorder.function == nullptr && !recorder.find()) return false;
  return static_cast<bool>(invoke(recorder.function, args...));
}

// As `invoke`, with keyword arguments, which come last; `names` is the tuple of their names.
template <class... Args>
Ref invoke_named(PyObject* function, PyObject* names, Args... args) {
  PyObject* values[] = {nullptr, args...};
  const size_t positional = sizeof...(args) - static_cast<size_t>(PyTuple_GET_SIZE(names));
  return Ref(PyObject_Vectorcall(function, values + 1, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 names));
}

// The Python function of an entry that does not take these arguments. Null if an exception is set already: then it is
// one that nobody should catch.
template <class... Args>
Ref fall_back(Function& function, Args... args) {
  if (PyErr_Occurred()) return Ref();
  PyObject* values[] = {nullptr, args...};
  if (watching) return watched_call(function, values + 1);
  const size_t positional = static_cast<size_t>(function.positional);
  return Ref(PyObject_Vectorcall(function.fallback, values + 1,
                                 positional | PY_VECTORCALL_ARGUMENTS_OFFSET, function.keywords));
}

// The result of a kernel in Python. Null without an exception where it fails: the general path says why.
template <class... Args>
Ref run(PyObject* kernel, Args... args) {
  if (watching) note_kernel(kPythonKernel);
  Ref result = invoke(kernel, args...);
  if (!result && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return result;
}

// Forget an exception that the Python function will raise again, and say more.
inline void forget_error() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
}

// An exact ndarray: kernels also give NumPy scalars.
inline Ref as_array(Ref result) {
  if (!result || PyArray_CheckExact(result.get())) return result;
  return Ref(PyArray_FromAny(result.get(), nullptr, 0, 0, NPY_ARRAY_ENSUREARRAY, nullptr));
}
// What is no array is left to the general path, which says so.
template <class... Args>
Ref run_for_array(PyObject* kernel, Args... args) {
  Ref result = run(kernel, args...);
  if (result && !PyArray_Check(result.get()) && !PyArray_CheckScalar(result.get())) return Ref();
  return as_array(std::move(result));
}

// Whether a kernel gave a tuple or list of arrays, of `count` results if that is not negative; with `masked` some of them
// may be None.
inline bool has_results(PyObject* result, Py_ssize_t count, bool masked = false) {
  if (!PyTuple_Check(result) && !PyList_Check(result)) return false;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(result);
  if (count >= 0 && size != count) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(result, i);
    if (!PyArray_Check(item) && !PyArray_CheckScalar(item) && !(masked && item == Py_None)) return false;
  }
  return true;
}

// -- the fast path

inline PyObject* array_object(PyObject* tensor) { return as_tensor(tensor)->array; }
inline PyObject* array_or_none(PyObject* tensor) {
  return tensor == Py_None ? Py_None : array_object(tensor);
}

inline bool is_plain_or_none(PyObject* object) { return object == Py_None || is_plain(object); }

// Whether this is a list or tuple, and `test` holds for its items.
template <class Test>
bool all_items(PyObject* items, Test test) {
  if (!PyList_CheckExact(items) && !PyTuple_CheckExact(items)) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!test(PySequence_Fast_GET_ITEM(items, i))) return false;
  }
  return true;
}
inline bool all_plain(PyObject* tensors) { return all_items(tensors, is_plain); }
// The same where some may be None.
inline bool all_plain_or_none(PyObject* tensors) {
  return unusual == 0 && all_items(tensors, is_plain_or_none);
}

inline bool is_real_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}
inline bool is_real_number_or_none(PyObject* object) {
  return object == Py_None || is_real_number(object);
}
inline bool is_flag_or_none(PyObject* object) { return object == Py_None || PyBool_Check(object); }
inline bool is_number(PyObject* object) {
  return is_real_number(object) || PyBool_Check(object) || PyComplex_CheckExact(object);
}
inline bool is_instance(PyObject* object, PyObject* type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

inline bool is_instance_or_none(PyObject* object, PyObject* type) {
  return object == Py_None || is_instance(object, type);
}

inline bool nothing_unusual() { return unusual == 0; }

inline bool same_dtype(PyObject* tensor, PyObject* other) {
  return PyArray_DESCR(array_of(tensor)) == PyArray_DESCR(array_of(other));
}
inline bool same_dtype_or_none(PyObject* tensor, PyObject* other) {
  return other == Py_None || same_dtype(tensor, other);
}
inline bool has_float_dtype(PyObject* tensor) { return kind_of(array_of(tensor)) != Kind::kNone; }
// The same, or complex numbers of these.
inline bool has_inexact_dtype(PyObject* tensor) {
  const int type = PyArray_DESCR(array_of(tensor))->type_num;
  return has_float_dtype(tensor) ||
         ((type == NPY_CFLOAT || type == NPY_CDOUBLE) && PyArray_ISNOTSWAPPED(array_of(tensor)));
}
// Neither float16 nor a type that NumPy does not know, as bfloat16: those are computed in float32, which Python does.
inline bool is_not_half(PyObject* tensor) {
  return PyArray_DESCR(array_of(tensor))->type_num < NPY_OBJECT;  // NPY_HALF comes behind it
}
// Whether a parameter has the value that it has where it is not given: then no number takes part in promotion.
inline bool is_default(const Function& function, int parameter, PyObject* value) {
  return function.defaults[parameter] == value;
}
inline bool has_number_dtype(PyObject* tensor) {
  PyArray_Descr* dtype = PyArray_DESCR(array_of(tensor));
  return has_float_dtype(tensor) ||
         (dtype->type_num == NPY_INT64 && PyArray_ISNOTSWAPPED(array_of(tensor)));
}
// Kinds of element types.
enum : unsigned { kBool = 1, kInteger = 2, kHalf = 4, kFloat = 8, kComplex = 16 };
// Several of them, for numbers of full precision.
enum : unsigned { kReal = kInteger | kFloat, kInexact = kFloat | kComplex, kNumber = kReal | kComplex };
// Whether a Python number, or None, is one of the element type of a Tensor, of one of some kinds: beside integers of 64 bits
// an int of that size.
inline bool goes_with(PyObject* tensor, PyObject* number, unsigned kinds) {
  if (has_float_dtype(tensor)) return (kinds & kFloat) != 0;
  if (has_inexact_dtype(tensor)) return (kinds & kComplex) != 0;
  if ((kinds & kInteger) == 0 || !has_number_dtype(tensor)) return false;
  if (number == Py_None) return true;
  int overflow = 1;
  if (PyLong_CheckExact(number)) PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0;
}
// Whether the elements of a Tensor are of one of some kinds.
inline bool is_taken(PyObject* tensor, unsigned kinds) {
  PyArrayObject* array = array_of(tensor);
  if (kind_of(array) != Kind::kNone) return (kinds & kFloat) != 0;
  switch (PyArray_DESCR(array)->kind) {
    case 'b':
      return (kinds & kBool) != 0;
    case 'i':
    case 'u':
      return (kinds & kInteger) != 0;
    case 'c':
      return (kinds & kComplex) != 0;
    default: {  // float16, and bfloat16, which NumPy knows as a void type; other types are stored, not computed with
      const int type = PyArray_DESCR(array)->type_num;
      return (kinds & kHalf) != 0 && PyArray_ITEMSIZE(array) == 2 && (type == NPY_HALF || type >= NPY_USERDEF);
    }
  }
}
inline bool is_taken_or_none(PyObject* tensor, unsigned kinds) {
  return tensor == Py_None || is_taken(tensor, kinds);
}

inline bool requires_grad_or_none(PyObject* tensor) {
  return tensor != Py_None && requires_grad(tensor);
}
inline bool any_requires_grad(PyObject* tensors) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (requires_grad_or_none(PySequence_Fast_GET_ITEM(tensors, i))) return true;
  }
  return false;
}

inline bool all_ints(PyObject* list) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    if (!PyLong_CheckExact(PySequence_Fast_GET_ITEM(list, i))) return false;
  }
  return true;
}

// A list of ints as kernels take it: a tuple. `convert` is runtime.call.guards.int_tuple.
inline Ref int_tuple(PyObject* value, PyObject* convert, PyObject* size) {
  if (PyTuple_CheckExact(value)) return Ref::borrow(value);
  int overflow = 0;
  if (PyLong_CheckExact(value) && PyLong_CheckExact(size) &&
      (PyLong_AsLongLongAndOverflow(value, &overflow), overflow == 0)) {
    Ref one(PyTuple_Pack(1, value));
    const long count = PyLong_AsLong(size);
    return count == 1 || !one ? std::move(one) : Ref(PySequence_Repeat(one.get(), count));
  }
  // A tuple of a class of its own is a Size.
  if ((PyList_CheckExact(value) || PyTuple_Check(value)) && all_ints(value)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    Ref ints(PyTuple_New(count));
    for (Py_ssize_t i = 0; ints && i < count; ++i) {
      PyTuple_SET_ITEM(ints.get(), i, Py_NewRef(PySequence_Fast_GET_ITEM(value, i)));
    }
    return ints;
  }
  return invoke(convert, value, size);
}
inline Ref int_tuple_or_none(PyObject* value, PyObject* convert, PyObject* size) {
  return value == Py_None ? Ref::borrow(value) : int_tuple(value, convert, size);
}

// The arrays of a list of Tensors, some of which may be None.
inline Ref array_list(PyObject* tensors) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
  Ref list(PyList_New(count));
  if (!list) return list;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyList_SET_ITEM(list.get(), i, Py_NewRef(array_or_none(PySequence_Fast_GET_ITEM(tensors, i))));
  }
  return list;
}

namespace detail {

// `make` of each item, in a list or a tuple.
template <class Make>
Ref collect(PyObject* items, bool as_list, Make make) {
  Ref sequence(PySequence_Fast(items, "a kernel with several results gives a list of arrays"));
  if (!sequence) return sequence;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get());
  Ref made(as_list ? PyList_New(count) : PyTuple_New(count));
  for (Py_ssize_t i = 0; made && i < count; ++i) {
    Ref tensor = make(PySequence_Fast_GET_ITEM(sequence.get(), i));
    if (!tensor) return tensor;
    if (as_list) {
      PyList_SET_ITEM(made.get(), i, tensor.release());
    } else {
      PyTuple_SET_ITEM(made.get(), i, tensor.release());
    }
  }
  return made;
}

}  // namespace detail

// Tensors over the arrays that a kernel gave: a list, or a tuple. An output that nobody asked for is None.
inline Ref tensor_over(PyObject* item) {
  if (item == Py_None) return Ref::borrow(item);
  Ref array = as_array(Ref::borrow(item));
  return array ? new_tensor(std::move(array)) : Ref();
}
inline Ref tensor_list(PyObject* items) { return detail::collect(items, true, tensor_over); }
inline Ref tensor_tuple(PyObject* items) { return detail::collect(items, false, tensor_over); }

// -- what formulas ask of Tensors

inline Ref attribute(PyObject* object, const char* name) {
  return Ref(PyObject_GetAttr(object, interned(name)));
}
inline Ref method(PyObject* object, const char* name) {
  return Ref(PyObject_CallMethodNoArgs(object, interned(name)));
}

// The NumPy dtype of a dtype; None of None.
inline Ref numpy_dtype(PyObject* dtype) {
  return dtype == Py_None ? Ref::borrow(dtype) : attribute(dtype, "numpy");
}
// runtime.base.dtypes.promoted_dtype of Python's ints and floats.
template <class... Numbers>
Ref dtype_of_numbers(PyObject* promote, PyObject* kind, Numbers... numbers) {
  Ref operands(PyTuple_Pack(sizeof...(numbers), numbers...));
  return operands ? invoke(promote, kind, operands.get()) : Ref();
}

inline Ref integer(npy_intp value) { return Ref(PyLong_FromSsize_t(value)); }
inline PyObject* boolean(bool value) { return value ? Py_True : Py_False; }

// Formulas come here with whatever a Python helper gave them.
inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == python.tensor_type || PyObject_TypeCheck(object, python.tensor_type);
}
inline bool check_tensor(PyObject* object) {
  if (is_tensor(object)) return true;
  PyErr_Format(PyExc_AttributeError, "expected a Tensor, not '%s'", Py_TYPE(object)->tp_name);
  return false;
}

inline Ref sizes_of(PyObject* tensor) {
  if (!check_tensor(tensor)) return Ref();
  return tuple_of(PyArray_DIMS(array_of(tensor)), PyArray_NDIM(array_of(tensor)));
}
inline Ref optional_sizes_of(PyObject* tensor) { return tensor == Py_None ? Ref::borrow(Py_None) : sizes_of(tensor); }
// The size of one dimension, which may be counted from the end.
inline Ref size_at(PyObject* tensor, npy_intp index) {
  if (!check_tensor(tensor)) return Ref();
  PyArrayObject* values = array_of(tensor);
  if (index < 0) index += PyArray_NDIM(values);
  if (index < 0 || index >= PyArray_NDIM(values)) {
    PyErr_SetString(PyExc_IndexError, "tuple index out of range");
    return Ref();
  }
  return integer(PyArray_DIM(values, static_cast<int>(index)));
}
inline Ref dim_of(PyObject* tensor) {
  return check_tensor(tensor) ? integer(PyArray_NDIM(array_of(tensor))) : Ref();
}
inline Ref numel_of(PyObject* tensor) {
  return check_tensor(tensor) ? integer(PyArray_SIZE(array_of(tensor))) : Ref();
}
inline Ref length_of(PyObject* values) {
  const Py_ssize_t count = PyObject_Length(values);
  return count < 0 ? Ref() : integer(count);
}
inline Ref shape_and_dtype(PyObject* tensor) {
  Ref shape = sizes_of(tensor);
  if (!shape) return shape;
  return Ref(PyTuple_Pack(2, shape.get(), PyArray_DESCR(array_of(tensor))));
}
inline bool is_contiguous(PyObject* tensor) {
  return is_tensor(tensor) && PyArray_IS_C_CONTIGUOUS(array_of(tensor));
}
// Of complex numbers, or of those of two float16, which are the only structures of four bytes.
inline bool has_complex_dtype(PyObject* tensor) {
  const PyArrayObject* array = array_of(tensor);
  return PyArray_DESCR(array)->kind == 'c' || (PyArray_TYPE(array) == NPY_VOID && PyArray_ITEMSIZE(array) == 4);
}
inline bool is_complex(PyObject* tensor) { return is_tensor(tensor) && has_complex_dtype(tensor); }
// Most Tensors are real, and for these it is nothing. `conj` is the operator.
inline Ref conjugate(PyObject* tensor, PyObject* conj) {
  const bool real = is_tensor(tensor) && !has_complex_dtype(tensor);
  return real ? Ref::borrow(tensor) : invoke(conj, tensor);
}
inline bool is_defined(PyObject* tensor) { return tensor != Py_None; }
// Whether results of this dtype can have a gradient; 'V' is that of types that NumPy does not know, such as bfloat16.
inline bool is_differentiable(PyObject* tensor) {
  const char kind = PyArray_DESCR(array_of(tensor))->kind;
  return kind == 'f' || kind == 'c' || kind == 'V';
}

// Whether a device is of a type, such as "cuda"; -1 with an exception.
inline int device_is(PyObject* device, const char* type) {
  Ref name = attribute(device, "type");
  return !name ? -1 : PyUnicode_CompareWithASCIIString(name.get(), type) == 0;
}

// -- what they ask of numbers

inline Ref conjugate_number(PyObject* number) {
  if (is_real_number(number)) return Ref::borrow(number);
  return method(number, "conjugate");
}
inline bool is_complex_number(PyObject* number) { return PyComplex_Check(number); }
inline bool is_float_number(PyObject* number) { return PyFloat_Check(number); }
inline Ref to_complex(PyObject* number) {
  return invoke(reinterpret_cast<PyObject*>(&PyComplex_Type), number);
}

// 1 or 0; -1 with an exception.
inline int is_true(PyObject* value) { return PyObject_IsTrue(value); }
inline int compare(PyObject* left, PyObject* right, int operation) {
  Ref result(PyObject_RichCompare(left, right, operation));
  return result ? PyObject_IsTrue(result.get()) : -1;
}

inline Ref plus(PyObject* left, PyObject* right) { return Ref(PyNumber_Add(left, right)); }
inline Ref minus(PyObject* left, PyObject* right) { return Ref(PyNumber_Subtract(left, right)); }
inline Ref times(PyObject* left, PyObject* right) { return Ref(PyNumber_Multiply(left, right)); }
inline Ref divided(PyObject* left, PyObject* right) {
  return Ref(PyNumber_TrueDivide(left, right));
}
inline Ref floor_divided(PyObject* left, PyObject* right) {
  return Ref(PyNumber_FloorDivide(left, right));
}
inline Ref modulo(PyObject* left, PyObject* right) { return Ref(PyNumber_Remainder(left, right)); }
inline Ref negated(PyObject* value) { return Ref(PyNumber_Negative(value)); }
inline Ref to_float(PyObject* value) { return Ref(PyNumber_Float(value)); }
inline Ref to_int(PyObject* value) { return Ref(PyNumber_Long(value)); }

// -- tuples and lists

inline Ref item_of(PyObject* values, PyObject* index) {
  return Ref(PyObject_GetItem(values, index));
}

template <class... Items>
Ref make_tuple(Items... items) {
  return Ref(PyTuple_Pack(sizeof...(items), items...));
}
template <class... Items>
Ref make_list(Items... items) {
  Ref made(PyList_New(sizeof...(items)));
  if (!made) return made;
  Py_ssize_t index = 0;
  (PyList_SET_ITEM(made.get(), index++, Py_NewRef(items)), ...);
  return made;
}
// `count` times the same.
inline Ref repeated(PyObject* value, PyObject* count) {
  Ref one = make_tuple(value);
  return one ? Ref(PySequence_Repeat(one.get(), PyNumber_AsSsize_t(count, nullptr))) : Ref();
}

// Take a tuple of gradients apart. False, with an exception: it has not as many elements.
template <class... Refs>
bool unpack_into(PyObject* values, Refs&... parts) {
  Ref sequence(PySequence_Fast(values, "a formula for several gradients gives a tuple of them"));
  if (!sequence) return false;
  if (PySequence_Fast_GET_SIZE(sequence.get()) != static_cast<Py_ssize_t>(sizeof...(parts))) {
    PyErr_Format(PyExc_ValueError, "expected %zu gradients, not %zd", sizeof...(parts),
                 PySequence_Fast_GET_SIZE(sequence.get()));
    return false;
  }
  Py_ssize_t index = 0;
  ((parts = Ref::borrow(PySequence_Fast_GET_ITEM(sequence.get(), index++))), ...);
  return true;
}

// What apply hands to the engine: null for a gradient that is None, or that was not asked for.
inline PyObject* gradient(Ref& value) {
  if (value.get() == Py_None) value = Ref();
  return value.release();
}

// Raise what `error` makes: the derivative for `argument` is declared as missing.
inline bool raise_not_implemented(Node* node, PyObject* error, const char* argument,
                                  const char* reason) {
  Ref exception(
      PyObject_CallFunction(error, "Oss", reinterpret_cast<PyObject*>(node), argument, reason));
  if (exception)
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  return false;
}

}  // namespace gradwright
