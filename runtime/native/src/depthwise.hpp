// Convolutions of one or two dimensions: what they are made of, and the two ways to compute them.
//
// Where each channel has a window of its own, rows of the input are added to rows of the result as they lie
// (depthwise.cpp). Others are products of matrices (convolution.cpp).

#pragma once

#include "kernels.hpp"
#include "windows.hpp"

namespace gradwright {

struct Convolution {
  Along rows, columns;
  npy_intp batch, channels, made, groups;  // `made` channels of the result

  npy_intp in() const { return rows.size * columns.size; }
  npy_intp out() const { return rows.count * columns.count; }
  npy_intp taps() const { return rows.kernel * columns.kernel; }
  // Channels of the result that a group has, and elements of a window of its input.
  npy_intp each() const { return made / groups; }
  npy_intp inner() const { return channels / groups * taps(); }

  bool is_depthwise() const { return groups > 1 && groups == channels; }
  // Whether each window is one element, and none is left out.
  bool is_pointwise() const {
    return taps() == 1 && rows.stride == 1 && columns.stride == 1 && rows.padding == 0 && columns.padding == 0;
  }
};

// What is computed from a result's gradient; null for what nobody wants.
template <class T>
struct Gradients {
  T *of_input, *of_weight, *of_bias;
};

namespace depthwise {

// Dense arrays all of them; `bias` may be null. They need no GIL, and may raise std::bad_alloc.
template <class T>
void forward(const Convolution& plan, const T* in, const T* weight, const T* bias, T* out);
template <class T>
void backward(const Convolution& plan, const T* grad, const T* in, const T* weight, const Gradients<T>& gradients);

}  // namespace depthwise

}  // namespace gradwright
