// The gradients of leaves, as runtime/graph/leaves.py adds them up, for plain Tensors with nothing recorded.

#include "leaves.hpp"

#include "copies.hpp"
#include "engine.hpp"
#include "inplace.hpp"
#include "kernels.hpp"

namespace gradwright {

namespace {

bool grad_dtypes_expected = false;  // as long as no Tensor has one, none is looked for

struct Names {
  PyObject* grad = PyUnicode_InternFromString("grad");
  PyObject* extra = PyUnicode_InternFromString("extra");
  PyObject* acquire = PyUnicode_InternFromString("acquire");
  PyObject* release = PyUnicode_InternFromString("release");
};
const Names& names() {
  static const Names interned;
  return interned;
}

// Whether the arrays have one shape and the same steps through memory; of a dimension of one element none is made.
bool lie_alike(PyArrayObject* one, PyArrayObject* other) {
  if (!detail::same_shape(one, other)) return false;
  for (int i = 0; i < PyArray_NDIM(one); ++i) {
    if (PyArray_DIM(one, i) > 1 && PyArray_STRIDE(one, i) != PyArray_STRIDE(other, i)) return false;
  }
  return true;
}

bool same_layout(PyArrayObject* grad, PyArrayObject* leaf) {
  if (PyArray_IS_C_CONTIGUOUS(grad) && PyArray_IS_C_CONTIGUOUS(leaf)) return true;
  return lie_alike(grad, leaf) && PyArray_ISWRITEABLE(grad) && !detail::repeats_elements(grad);
}

struct Same {
  template <class T>
  static T apply(T a) { return a; }
};

// A copy of `grad`, laid out as the leaf is.
Ref copy_for(PyArrayObject* leaf, PyArrayObject* grad) {
  const Loop* loop = PyArray_DESCR(leaf) == PyArray_DESCR(grad) ? loop_of<Same>(detail::type_of(grad)) : nullptr;
  if (loop != nullptr && is_dense(leaf) && is_dense(grad) && detail::same_shape(leaf, grad)) {
    Ref copy = detail::run_dense_loop<1>(*loop, {PyArray_BYTES(grad)}, {PyArray_ITEMSIZE(grad)}, grad);
    return copy ? new_tensor(std::move(copy)) : Ref();
  }
  Ref own = new_array_like(leaf);
  PyArrayObject* copy = as_ndarray(own);
  if (own && !copy_array(grad, copy) && PyArray_CopyInto(copy, grad) < 0) return Ref();
  return own ? new_tensor(std::move(own)) : Ref();
}

int store(PyObject* leaf, PyObject* grad, bool unshared) {
  Ref fresh = unshared && same_layout(array_of(grad), array_of(leaf)) ? Ref::borrow(grad)
                                                                       : copy_for(array_of(leaf), array_of(grad));
  if (!fresh) return -1;
  Ref extra(PyObject_GetAttr(leaf, names().extra));  // one of its own: what it has may be a mark that others share
  return extra && PyObject_SetAttr(extra.get(), names().grad, fresh.get()) == 0 ? 1 : -1;
}

// Whether the arrays share memory other than by being the same: then the order of the loop matters.
bool overlap(PyArrayObject* a, PyArrayObject* b) {
  const char *first = PyArray_BYTES(a), *second = PyArray_BYTES(b);
  return first != second && first < second + PyArray_NBYTES(b) && second < first + PyArray_NBYTES(a);
}

int add_to(PyObject* known, PyObject* grad) {
  if (!is_plain(known)) return 0;
  PyArrayObject *sum = array_of(known), *term = array_of(grad);
  const bool fits = PyArray_DESCR(sum) == PyArray_DESCR(term) && PyArray_NDIM(sum) == PyArray_NDIM(term) &&
                    std::equal(PyArray_DIMS(sum), PyArray_DIMS(sum) + PyArray_NDIM(sum), PyArray_DIMS(term));
  const bool may_write = detail::is_unwatched(as_tensor(known)->writes) && PyArray_ISWRITEABLE(sum);
  if (!fits || !may_write || overlap(sum, term) || !add_into(sum, term)) return 0;
  return count_write(known) ? 1 : -1;
}

int accumulate_locked(PyObject* leaf, PyObject* grad, bool unshared) {
  const Ref extra = Ref::borrow(as_tensor(leaf)->extra);  // another thread may replace it
  if (extra.get() == Py_None) return store(leaf, grad, unshared);
  Ref known(PyObject_GetAttr(extra.get(), names().grad));
  if (!known) return -1;
  return known.get() == Py_None ? store(leaf, grad, unshared) : add_to(known.get(), grad);
}

}  // namespace

bool may_have_grad_dtype(PyObject* leaf) { return grad_dtypes_expected && as_tensor(leaf)->extra != Py_None; }

PyObject* expect_grad_dtypes(PyObject*, PyObject*) {
  grad_dtypes_expected = true;
  Py_RETURN_NONE;
}

bool is_unshared(PyObject* grad) {
  PyArrayObject* array = array_of(grad);
  if (Py_REFCNT(grad) != 1 || Py_REFCNT(array) != 1) return false;
  PyObject* base = PyArray_BASE(array);
  if (base == nullptr) return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
  if (!PyArray_CheckExact(base) || Py_REFCNT(base) != 1) return false;
  auto* whole = reinterpret_cast<PyArrayObject*>(base);
  return PyArray_BASE(whole) == nullptr && PyArray_SIZE(whole) == PyArray_SIZE(array);
}

Ref without_base(Ref grad) {
  if (Py_TYPE(grad.get()) != python.tensor_type || Py_REFCNT(grad.get()) != 1) return grad;
  const Tensor* view = as_tensor(grad.get());
  PyObject* base = view->base;
  if (base == Py_None || Py_TYPE(base) != python.tensor_type || Py_REFCNT(base) != 1) return grad;
  const Tensor* whole = as_tensor(base);
  const bool unseen = view->weakrefs == nullptr && whole->weakrefs == nullptr && view->edge == Py_None &&
                      whole->edge == Py_None && view->writes == Py_None;
  if (!unseen || Py_REFCNT(whole->array) != 2 || PyArray_BASE(array_of(grad.get())) != whole->array) return grad;
  return new_tensor(Ref::borrow(view->array));
}

int accumulate(PyObject* leaf, PyObject* grad, bool create_graph, bool unshared) {
  if (create_graph || !is_plain(leaf) || !is_plain(grad) || may_have_grad_dtype(leaf)) return 0;
  if (!requires_grad(leaf)) return 1;  // no longer
  // Where another thread is at it, Python waits for its turn.
  PyObject* lock = engine_callbacks.lock;
  PyObject* args[] = {lock, Py_False};
  Ref taken(PyObject_VectorcallMethod(names().acquire, args, 2, nullptr));
  if (!taken) return -1;
  if (taken.get() != Py_True) return 0;
  const int done = accumulate_locked(leaf, grad, unshared);
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  Ref released(PyObject_VectorcallMethod(names().release, args, 1, nullptr));
  if (!released) {
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
  }
  PyErr_Restore(kind, value, trace);
  return done;
}

Ref finish_with_hooks(PyObject* leaf, PyObject* grad, bool accumulate, bool create_graph, bool unshared) {
  PyObject* args[] = {leaf, grad, accumulate ? Py_True : Py_False, create_graph ? Py_True : Py_False,
                      unshared ? Py_True : Py_False};
  return call(engine_callbacks.finish_with_hooks, args, 5);
}

}  // namespace gradwright
