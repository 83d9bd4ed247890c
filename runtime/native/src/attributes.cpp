// What users ask of Tensors most often, without a call of Python: shape, dtype, gradient, transposed views, `x[i]` and
// `x[i] = value`.
// Each does what the Python property or method of its name does; Tensors of other classes go there.

#include "attributes.hpp"

#include <iterator>

#include "composites.hpp"
#include "inplace.hpp"
#include "intrinsics.hpp"
#include "names.hpp"
#include "sharing.hpp"

namespace gradwright {

namespace {

PyObject* originals = nullptr;  // the Python properties and functions by name
PyTypeObject* size_type = nullptr;
PyObject* dtypes = nullptr;  // from NumPy's

// Whether a Tensor has its state in the struct, and nothing to say about reading it. Modes do not matter.
bool is_simple(PyObject* self) { return Py_TYPE(self) == python.tensor_type || is_plain_type(Py_TYPE(self)); }

// -- the way into Python; the closure of a getter is the name

PyObject* original(const char* name) { return PyDict_GetItemString(originals, name); }

// `property.__get__`; the descriptor protocol handles all of it.
PyObject* property_value(PyObject* self, void* name) {
  PyObject* property = original(static_cast<const char*>(name));
  return Py_TYPE(property)->tp_descr_get(property, self, reinterpret_cast<PyObject*>(Py_TYPE(self)));
}
int set_property(PyObject* self, PyObject* value, void* name) {
  PyObject* property = original(static_cast<const char*>(name));
  return Py_TYPE(property)->tp_descr_set(property, self, value);
}
template <class... Args>
PyObject* call_method(const char* name, Args... args) {
  return invoke(original(name), args...).release();
}

// -- getters

PyObject* shape_of(PyObject* self) {
  PyArrayObject* array = array_of(self);
  PyObject* shape = size_type->tp_alloc(size_type, PyArray_NDIM(array));
  if (shape == nullptr) return nullptr;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    PyObject* size = PyLong_FromSsize_t(PyArray_DIM(array, i));
    if (size == nullptr) {
      Py_DECREF(shape);
      return nullptr;
    }
    PyTuple_SET_ITEM(shape, i, size);
  }
  return shape;
}

PyObject* get_shape(PyObject* self, void* name) { return is_simple(self) ? shape_of(self) : property_value(self, name); }

PyObject* get_ndim(PyObject* self, void* name) {
  return is_simple(self) ? PyLong_FromLong(PyArray_NDIM(array_of(self))) : property_value(self, name);
}

PyObject* get_dtype(PyObject* self, void* name) {
  if (!is_simple(self)) return property_value(self, name);
  PyObject* found = PyDict_GetItemWithError(dtypes, reinterpret_cast<PyObject*>(PyArray_DESCR(array_of(self))));
  if (found != nullptr) return Py_NewRef(found);
  return PyErr_Occurred() ? nullptr : property_value(self, name);
}

PyObject* get_requires_grad(PyObject* self, void* name) {
  return is_simple(self) ? PyBool_FromLong(requires_grad(self)) : property_value(self, name);
}

bool is_leaf(PyObject* self) {
  PyObject* edge = as_tensor(self)->edge;
  return edge == Py_None || edge == python.leaf || edge == python.discard_gradient;
}

PyObject* get_is_leaf(PyObject* self, void* name) {
  return is_simple(self) ? PyBool_FromLong(is_leaf(self)) : property_value(self, name);
}

PyObject* get_grad(PyObject* self, void* name) {
  // Of others, Python warns.
  if (!is_simple(self) || !is_leaf(self)) return property_value(self, name);
  const Ref extra = Ref::borrow(as_tensor(self)->extra);  // another thread may replace it
  static PyObject* const grad = PyUnicode_InternFromString("grad");
  return extra.get() == Py_None ? Py_NewRef(Py_None) : PyObject_GetAttr(extra.get(), grad);
}

PyObject* get_grad_fn(PyObject* self, void* name) {
  if (!is_simple(self)) return property_value(self, name);
  if (is_leaf(self)) Py_RETURN_NONE;
  // What a program puts on the Node of a view is left behind by a write to its base, for which Python looks out.
  if (as_tensor(self)->base != Py_None) return property_value(self, name);
  PyObject* edge = as_tensor(self)->edge;
  // Nodes of Python classes may stand for a history that has lost its meaning.
  const bool native = PyObject_TypeCheck(edge, python.node_type) && as_node(edge)->cls != nullptr;
  return native ? Py_NewRef(edge) : property_value(self, name);
}

PyObject* get_T(PyObject* self, void* name) {
  if (is_plain(self) && detail::fits_layout(array_of(self))) {
    npy_intp order[detail::kMostDims];
    const int ndim = detail::ndim_of(self);
    for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
    Ref dims = detail::ints(order, ndim);
    Ref out = dims ? late::permute(self, dims.get()) : Ref();
    if (out) return out.release();
    forget_error();
  }
  return PyErr_Occurred() ? nullptr : property_value(self, name);
}

PyObject* get_mT(PyObject* self, void* name) {
  if (is_plain(self) && detail::ndim_of(self) >= 2) {
    Ref last_but_one = integer(-2), last = integer(-1);
    Ref out = late::transpose(self, last_but_one.get(), last.get());
    if (out) return out.release();
    forget_error();
  }
  return PyErr_Occurred() ? nullptr : property_value(self, name);
}

template <getter get, setter set = nullptr>
constexpr PyGetSetDef getter_named(const char* name) {
  return {name, get, set, nullptr, const_cast<char*>(name)};
}

PyGetSetDef getters[] = {
    getter_named<get_shape>("shape"),
    getter_named<get_ndim>("ndim"),
    getter_named<get_dtype>("dtype"),
    getter_named<get_requires_grad, set_property>("requires_grad"),
    getter_named<get_is_leaf>("is_leaf"),
    getter_named<get_grad, set_property>("grad"),
    getter_named<get_grad_fn>("grad_fn"),
    getter_named<get_T>("T"),
    getter_named<get_mT>("mT"),
};

// -- methods

PyObject* call_size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (is_simple(self) && keywords == nullptr) {
    if (count == 0) return shape_of(self);
    const int ndim = PyArray_NDIM(array_of(self));
    const int dim = count == 1 && ndim > 0 ? detail::read_dim(args[0], ndim) : -1;
    if (dim >= 0) return PyLong_FromSsize_t(PyArray_DIM(array_of(self), dim));
  }
  PyObject* values[16] = {self};
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  std::copy_n(args, std::min<Py_ssize_t>(count + named, 15), values + 1);
  return PyObject_Vectorcall(original("size"), values, std::min<Py_ssize_t>(count, 15 - named) + 1, keywords);
}

PyObject* call_dim(PyObject* self, PyObject*) {
  return is_simple(self) ? PyLong_FromLong(PyArray_NDIM(array_of(self))) : call_method("dim", self);
}

PyObject* call_numel(PyObject* self, PyObject*) {
  return is_simple(self) ? PyLong_FromSsize_t(PyArray_SIZE(array_of(self))) : call_method("numel", self);
}

PyObject* call_detach(PyObject* self, PyObject*) {
  if (!is_simple(self)) return call_method("detach", self);
  Ref out = new_tensor(Ref::borrow(array_object(self)));
  if (out) share_memory(as_tensor(out.get()), as_tensor(self));
  return out.release();
}

PyMethodDef methods[] = {
    {"size", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_size)), METH_FASTCALL | METH_KEYWORDS,
     nullptr},
    {"dim", call_dim, METH_NOARGS, nullptr},
    {"ndimension", call_dim, METH_NOARGS, nullptr},
    {"numel", call_numel, METH_NOARGS, nullptr},
    {"nelement", call_numel, METH_NOARGS, nullptr},
    {"detach", call_detach, METH_NOARGS, nullptr},
};

// -- `x[i]`

bool is_whole(PyObject* part) {
  const auto* slice = reinterpret_cast<PySliceObject*>(part);
  return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

// `self` with a slice of dimension `dim`; the slice operator takes ints and None, and declines the rest.
Ref sliced(PyObject* self, int dim, PyObject* part) {
  const auto* slice = reinterpret_cast<PySliceObject*>(part);
  npy_intp number = 1;
  if (detail::ndim_of(self) == 0) return Ref();
  for (PyObject* bound : {slice->start, slice->stop}) {
    if (bound != Py_None && !PyLong_CheckExact(bound)) return Ref();
  }
  if (slice->step != Py_None && (!detail::read_int(slice->step, &number) || number <= 0)) return Ref();
  Ref along = integer(dim), step = integer(number);
  return late::slice(self, along.get(), slice->start, slice->stop, step.get());
}

Ref selected(PyObject* self, int dim, PyObject* index) {
  npy_intp number;
  if (detail::ndim_of(self) <= dim || !detail::read_int(index, &number)) return Ref();
  const npy_intp size = detail::sizes_at(self)[dim];
  if (number < -size || number >= size) return Ref();
  Ref along = integer(dim);
  return late::select(self, along.get(), index);
}

// A Tensor of indices or a mask, or a list of ints as one; null, without an exception, for anything else. 0-dim Tensors
// stand for numbers.
Ref index_tensor(PyObject* part) {
  if (PyList_CheckExact(part)) {
    if (PyList_GET_SIZE(part) == 0 || !all_ints(part)) return Ref();
    Ref array(PyArray_FromAny(part, PyArray_DescrFromType(NPY_INT64), 1, 1, NPY_ARRAY_CARRAY, nullptr));
    return array ? new_tensor(std::move(array)) : Ref();
  }
  return is_tensor(part) && is_plain(part) && detail::ndim_of(part) > 0 ? Ref::borrow(part) : Ref();
}

// How many dimensions an index Tensor speaks of.
int consumed(PyObject* index) {
  const int type = PyArray_TYPE(array_of(index));
  return type == NPY_BOOL || type == NPY_UINT8 ? detail::ndim_of(index) : 1;
}

// An index as runtime/methods/indexing.py reads it: the view that its simple parts make, and a list of index Tensors and
// None for the dimensions of this view; null where there are none.
struct Subscript {
  Ref view, indices;

  // False: it is unusual, or wrong. An exception may be set, of which Python has better words.
  bool read(PyObject* self, PyObject* index) {
    if (PyTuple_CheckExact(index)) return read_parts(self, index);
    view = Ref::borrow(self);
    if (PyLong_CheckExact(index)) {
      view = selected(self, 0, index);
    } else if (PySlice_Check(index)) {
      view = sliced(self, 0, index);
    } else {
      Ref tensor = index_tensor(index);
      if (!tensor || consumed(tensor.get()) > detail::ndim_of(self)) return false;
      indices = make_list(tensor.get());
      return static_cast<bool>(indices);
    }
    return static_cast<bool>(view);
  }

 private:
  static constexpr int kMostParts = detail::kMostDims;

  bool read_parts(PyObject* self, PyObject* parts) {
    const Py_ssize_t count = PyTuple_GET_SIZE(parts);
    Py_ssize_t left = detail::ndim_of(self);
    if (count + left > kMostParts) return false;
    bool open = false, indexed = false;
    Ref tensors[kMostParts];
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* part = PyTuple_GET_ITEM(parts, i);
      if (part == Py_Ellipsis) {
        if (open) return false;
        open = true;
      } else if (PyLong_CheckExact(part) || PySlice_Check(part)) {
        if (--left < 0) return false;
      } else if (part != Py_None) {
        tensors[i] = index_tensor(part);
        if (!tensors[i]) return false;
        left -= consumed(tensors[i].get());
        if (left < 0) return false;
        indexed = true;
      }
    }
    view = Ref::borrow(self);
    PyObject* found[kMostParts];
    int dim = 0, places = 0;
    const auto pass = [&](int dims) {
      dim += dims;
      for (int k = 0; k < dims; ++k) found[places++] = Py_None;
    };
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* part = PyTuple_GET_ITEM(parts, i);
      if (part == Py_None) {
        Ref place = integer(dim);
        view = late::unsqueeze(view.get(), place.get());
        pass(1);
      } else if (part == Py_Ellipsis) {
        pass(static_cast<int>(left));
      } else if (PySlice_Check(part)) {
        if (!is_whole(part)) view = sliced(view.get(), dim, part);
        pass(1);
      } else if (tensors[i]) {
        found[places++] = tensors[i].get();
        dim += consumed(tensors[i].get());
      } else {
        view = selected(view.get(), dim, part);
      }
      if (!view) return false;
    }
    if (!indexed) return true;
    indices = Ref(PyList_New(places));
    for (int k = 0; indices && k < places; ++k) PyList_SET_ITEM(indices.get(), k, Py_NewRef(found[k]));
    return static_cast<bool>(indices);
  }
};

// A function of runtime.methods.indexing.
PyObject* python_function(const char* name) {
  Ref module(PyImport_ImportModule(RUNTIME_NAME("methods.indexing")));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

// -- `x[i] = value`

// Whether a Tensor, or None, has nothing to do with autograd.
bool is_free(PyObject* tensor) {
  return tensor == Py_None || (as_tensor(tensor)->edge == Py_None && as_tensor(tensor)->extra == Py_None);
}

// A number that an array takes as it is.
bool is_element(PyArrayObject* array, PyObject* value) {
  Operand number;
  npy_intp whole;
  return kind_of(array) != Kind::kNone ? number.set(value)
                                       : detail::type_of(array) == NPY_INT64 && detail::read_int(value, &whole);
}

// Whether a part of an index is an int, or a slice of ints.
bool is_simple_part(PyObject* part) {
  if (PyLong_CheckExact(part)) return true;
  if (!PySlice_Check(part)) return false;
  const auto* slice = reinterpret_cast<PySliceObject*>(part);
  npy_intp step = 1;
  for (PyObject* bound : {slice->start, slice->stop}) {
    if (bound != Py_None && !PyLong_CheckExact(bound)) return false;
  }
  return slice->step == Py_None || (detail::read_int(slice->step, &step) && step > 0);
}

// A write that autograd has nothing to do with, to what ints and slices name: NumPy does it as PyTorch. False: not done.
bool written_directly(PyObject* self, PyObject* index, PyObject* value) {
  PyArrayObject* array = array_of(self);
  if (!is_free(self) || !is_free(as_tensor(self)->base) || !can_write(self, false)) return false;
  if (PyTuple_CheckExact(index)) {
    const Py_ssize_t count = PyTuple_GET_SIZE(index);
    if (count > PyArray_NDIM(array)) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!is_simple_part(PyTuple_GET_ITEM(index, i))) return false;
    }
  } else if (PyArray_NDIM(array) == 0 || !is_simple_part(index)) {
    return false;
  }
  if (is_tensor(value)) {
    if (!is_plain(value) || as_tensor(value)->edge != Py_None || !same_dtype(self, value)) return false;
    if (as_tensor(self)->next != nullptr && may_overlap(array, array_of(value))) return false;
    value = array_object(value);
  } else if (!is_element(array, value)) {
    return false;
  }
  return PyObject_SetItem(reinterpret_cast<PyObject*>(array), index, value) == 0 && count_write(self);
}

// A write to what index Tensors name. False: not done.
bool written_by_index(PyObject* self, PyObject* index, PyObject* value) {
  Ref given;
  if (is_tensor(value)) {
    if (!is_plain(value) || (detail::ndim_of(value) > 0 && detail::sizes_at(value)[0] == 1)) return false;
    given = Ref::borrow(value);
  } else {
    PyArrayObject* array = array_of(self);
    if (!is_element(array, value)) return false;
    Ref number = new_array(PyArray_TYPE(array), 0, nullptr);
    if (!number) return false;
    auto* element = reinterpret_cast<PyArrayObject*>(number.get());
    if (PyArray_SETITEM(element, PyArray_BYTES(element), value) < 0) return false;
    given = new_tensor(std::move(number));
  }
  Subscript subscript;
  if (!given || !subscript.read(self, index) || !subscript.indices) return false;
  return static_cast<bool>(late::index_put_(subscript.view.get(), subscript.indices.get(), given.get()));
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* index) {
  if (is_plain(self)) {
    Ref out;
    if (PyLong_CheckExact(index)) {
      out = selected(self, 0, index);
    } else if (Subscript found; found.read(self, index)) {
      if (found.indices) {
        out = late::index(found.view.get(), found.indices.get());
      } else {
        out = found.view.get() == self ? late::alias(self) : std::move(found.view);
      }
    }
    if (out) return out.release();
    forget_error();
    if (PyErr_Occurred()) return nullptr;
  }
  static PyObject* getitem = nullptr;
  if (getitem == nullptr) getitem = python_function("getitem");
  return getitem == nullptr ? nullptr : invoke(getitem, self, index).release();
}

int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  if (is_plain(self)) {
    if (written_directly(self, index, value) || (!PyErr_Occurred() && written_by_index(self, index, value))) return 0;
    forget_error();
    if (PyErr_Occurred()) return -1;
  }
  static PyObject* setitem = nullptr;
  if (setitem == nullptr) setitem = python_function("setitem");
  return setitem != nullptr && invoke(setitem, self, index, value) ? 0 : -1;
}

PyObject* replace_attributes(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyType_Check(args[0]) || !PyType_Check(args[1]) || !PyDict_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "replace_attributes(tensor_type, size_type, dtypes)");
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
  size_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(args[1]));
  dtypes = Py_NewRef(args[2]);
  originals = PyDict_New();
  if (originals == nullptr) return nullptr;
  const auto put = [&](const char* name, const char** doc, auto make) {
    Ref known(PyObject_GetAttrString(args[0], name));
    if (!known || PyDict_SetItemString(originals, name, known.get()) < 0) return false;
    Ref text(PyObject_GetAttrString(known.get(), "__doc__"));
    if (!text) return false;
    // The text lives as long as the original.
    *doc = PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
    Ref made(make());
    return made && PyObject_SetAttrString(args[0], name, made.get()) == 0;
  };
  for (PyGetSetDef& getter : getters) {
    if (!put(getter.name, &getter.doc, [&] { return PyDescr_NewGetSet(type, &getter); })) return nullptr;
  }
  for (PyMethodDef& method : methods) {
    if (!put(method.ml_name, &method.ml_doc, [&] { return PyDescr_NewMethod(type, &method); })) return nullptr;
  }
  Py_RETURN_NONE;
}

}  // namespace gradwright
