// Convolutions of one to three dimensions: what they are made of, and the two ways to compute them.
//
// Where each channel of an image has a window of its own, rows of the input are added to rows of the result as they lie
// (depthwise.cpp). Others are products of matrices (convolution.cpp).

#pragma once

#include "kernels.hpp"
#include "windows.hpp"

namespace gradwright {

struct Convolution {
  Along planes, rows, columns;
  npy_intp batch, channels, made, groups;  // `made` channels of the result

  npy_intp in() const { return planes.size * rows.size * columns.size; }
  // Rows of the result, those of all planes.
  npy_intp lines() const { return planes.count * rows.count; }
  npy_intp out() const { return lines() * columns.count; }
  npy_intp taps() const { return planes.kernel * rows.kernel * columns.kernel; }
  // Channels of the result that a group has, and elements of a window of its input.
  npy_intp each() const { return made / groups; }
  npy_intp inner() const { return channels / groups * taps(); }

  // Whether each channel has a window of its own, in one plane.
  bool is_depthwise() const {
    return groups > 1 && groups == channels && planes.size == 1 && planes.count == 1 && planes.kernel == 1;
  }
  // Whether each window is one element, and none is left out.
  bool is_pointwise() const {
    const auto moves_by_one = [](const Along& along) { return along.stride == 1 && along.padding == 0; };
    return taps() == 1 && moves_by_one(planes) && moves_by_one(rows) && moves_by_one(columns);
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
