#include "losses.hpp"

#include "kernels.hpp"
#include "reductions.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

// Operands of the losses: self, target and a number. Of the gradients: self, target, the gradient of the result, by how many
// a mean divides, and a number.

template <class T>
GRADWRIGHT_INLINE T distance_of(T a, T b) {
  return std::fabs(a - b);
}
template <class T>
GRADWRIGHT_INLINE T within(T a, T limit) {
  return kernels::minimum::apply(kernels::maximum::apply(a, -limit), limit);
}

// With q for the part of the distance below beta: q (q / beta) / 2 + (d - q), and no branch.
struct smooth_l1 {
  static constexpr int kLeading = 2;
  template <class T>
  static T apply(T a, T b, T beta) {
    const T distance = distance_of(a, b), near = kernels::minimum::apply(distance, beta);
    return distance - near + near * (near / beta) * T(0.5);
  }
};
struct smooth_l1_slope {
  static constexpr int kLeading = 2;
  template <class T>
  static T apply(T a, T b, T grad, T count, T beta) { return grad * within((a - b) / beta, T(1)) / count; }
};

struct huber {
  static constexpr int kLeading = 2;
  template <class T>
  static T apply(T a, T b, T delta) {
    const T distance = distance_of(a, b), linear = delta * (distance - T(0.5) * delta);
    const T square = T(0.5) * distance * distance;
    return distance < delta ? square : linear;
  }
};
struct huber_slope {
  static constexpr int kLeading = 2;
  template <class T>
  static T apply(T a, T b, T grad, T count, T delta) { return grad * within(a - b, delta) / count; }
};

// log(1 + exp(-a b)), where no exponential is infinite.
struct soft_margin {
  template <class T, class A = Baseline>
  static T apply(T a, T b) {
    const T x = -a * b;
    return kernels::maximum::apply(x, T(0)) + vectors::log_of_smooth_step<A>(x);
  }
};
struct soft_margin_slope {
  static constexpr int kLeading = 2;
  template <class T, class A = Baseline>
  static T apply(T a, T b, T grad, T count) { return grad * (-b / vectors::one_plus_exp<A>(a * b)) / count; }
};

constexpr char kOddArguments[] = "a reduction or a number that the Python kernel looks at";

// 0 none, 1 mean, 2 sum; -1 for what is none of them.
int read_reduction(PyObject* value) {
  npy_intp number;
  return detail::read_int(value, &number) && number >= 0 && number <= 2 ? static_cast<int>(number) : -1;
}

bool is_positive(PyObject* number) { return PyFloat_CheckExact(number) && PyFloat_AS_DOUBLE(number) > 0; }

Ref reduced(Ref losses, int reduction) {
  if (reduction == 0) return losses;
  return then(std::move(losses), [&](PyObject* each) {
    return reduction == 1 ? kernels::mean_all(each, Py_None) : kernels::sum_all(each, Py_None);
  });
}

// A loss of two Tensors and `numbers`.
template <class F, class... Numbers>
Ref loss_of(PyObject* self, PyObject* target, PyObject* reduction, Numbers... numbers) {
  const int how = read_reduction(reduction);
  if (how < 0) return declined(kOddArguments);
  return reduced(elementwise<F, 2>(self, target, numbers...), how);
}

// Its gradient. The result has the shape of both, to which the gradient broadcasts.
template <class F, class... Numbers>
Ref slope_of(PyObject* grad, PyObject* self, PyObject* target, PyObject* reduction, Numbers... numbers) {
  const int how = read_reduction(reduction);
  if (how < 0 || !detail::same_shape(array_of(self), array_of(target))) return declined(kOddArguments);
  Ref count(PyFloat_FromDouble(how == 1 ? static_cast<double>(PyArray_SIZE(array_of(self))) : 1));
  return count ? elementwise<F, 3>(self, target, grad, count.get(), numbers...) : Ref();
}

}  // namespace

namespace kernels {

Ref smooth_l1_loss(PyObject* self, PyObject* target, PyObject* reduction, PyObject* beta) {
  return is_positive(beta) ? loss_of<smooth_l1>(self, target, reduction, beta) : declined(kOddArguments);
}

Ref smooth_l1_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* reduction,
                            PyObject* beta) {
  if (!is_positive(beta)) return declined(kOddArguments);
  return slope_of<smooth_l1_slope>(grad_output, self, target, reduction, beta);
}

Ref huber_loss(PyObject* self, PyObject* target, PyObject* reduction, PyObject* delta) {
  return is_positive(delta) ? loss_of<huber>(self, target, reduction, delta) : declined(kOddArguments);
}

Ref huber_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* reduction, PyObject* delta) {
  if (!is_positive(delta)) return declined(kOddArguments);
  return slope_of<huber_slope>(grad_output, self, target, reduction, delta);
}

Ref soft_margin_loss(PyObject* self, PyObject* target, PyObject* reduction) {
  if (!detail::same_shape(array_of(self), array_of(target))) return declined(kOddArguments);
  return loss_of<soft_margin>(self, target, reduction);
}

Ref soft_margin_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* reduction) {
  return slope_of<soft_margin_slope>(grad_output, self, target, reduction);
}

}  // namespace kernels

}  // namespace gradwright
