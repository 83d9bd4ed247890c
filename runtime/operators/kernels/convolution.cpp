// A convolution as products of matrices: the weights, a row for each channel of the result, times the windows of the input,
// a column for each place of the result. The windows are copied in parts that stay in the cache.
//
// A transposed convolution is the adjoint of one, for which the plan is made: what it is given is that one's result, and its
// result that one's input.

#include "depthwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "composites.hpp"
#include "contiguous.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"
#include "products.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr char kOtherConvolution[] = "a convolution of another form";

// So many elements of columns are made at once.
constexpr npy_intp kPart = npy_intp{1} << 18;

// Some images, or some rows of the result of one, counted through its planes.
struct Part {
  npy_intp first, count, top, height;
};

// work(part) for parts that make up the batch.
template <class Work>
void for_parts(const Convolution& plan, Work work) {
  const npy_intp row = plan.inner() * plan.groups * plan.columns.count, image = row * plan.lines();
  // What has no columns is no part of an image.
  const bool whole = plan.is_pointwise() || image <= kPart;
  const npy_intp together = plan.is_pointwise() ? 1 : std::max<npy_intp>(1, kPart / image);
  const npy_intp most = whole ? plan.lines() : std::max<npy_intp>(1, kPart / row);
  for (npy_intp first = 0; first < plan.batch; first += together) {
    for (npy_intp top = 0; top < plan.lines(); top += most) {
      work(Part{first, std::min(together, plan.batch - first), top, std::min(most, plan.lines() - top)});
    }
  }
}

// The memory of a part.
template <class T>
class Buffer {
 public:
  T* of(npy_intp size) {
    if (size > size_) {
      data_.reset(new T[static_cast<size_t>(size)]);
      size_ = size;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<T[]> data_;
  npy_intp size_ = 0;
};

// copy(to, from, step, count) for each row of a window's element: so many places of the result, `to` and on, have theirs
// at `from` and on, `step` elements apart; zeros(to, count) where they are in the padding.
template <class Copy, class Zeros>
void for_rows(const Convolution& plan, const Part& part, npy_intp tap, Copy copy, Zeros zeros) {
  const Along &planes = plan.planes, &rows = plan.rows, &columns = plan.columns;
  const npy_intp j = tap % columns.kernel, i = tap / columns.kernel % rows.kernel;
  const npy_intp h = tap / (columns.kernel * rows.kernel), width = columns.count;
  const npy_intp first = std::min(columns.first(j), width), end = std::max(first, columns.end(j));
  npy_intp z = part.top / rows.count, y = part.top % rows.count;
  for (npy_intp to = 0; to < part.height * width; to += width) {
    const npy_intp plane = z * planes.stride + planes.start(h), row = y * rows.stride + rows.start(i);
    if (++y == rows.count) y = 0, ++z;
    if (plane < 0 || plane >= planes.size || row < 0 || row >= rows.size || first == end) {
      zeros(to, width);
      continue;
    }
    if (first > 0) zeros(to, first);
    const npy_intp from = (plane * rows.size + row) * columns.size + first * columns.stride + columns.start(j);
    copy(to + first, from, columns.stride, end - first);
    if (end < width) zeros(to + end, width - end);
  }
}

// The windows of a part as columns: a row for each channel and each element of a window.
template <class T>
void fill_columns(const Convolution& plan, const Part& part, const T* in, T* columns) {
  const npy_intp places = part.height * plan.columns.count, width = part.count * places, taps = plan.taps();
  parallel_for(plan.channels * taps, std::max<npy_intp>(1, kGrain / width), [&](npy_intp begin, npy_intp end) {
    for (npy_intp line = begin; line < end; ++line) {
      for (npy_intp n = 0; n < part.count; ++n) {
        const T* image = in + ((part.first + n) * plan.channels + line / taps) * plan.in();
        T* out = columns + line * width + n * places;
        for_rows(
            plan, part, line % taps,
            [=](npy_intp to, npy_intp from, npy_intp step, npy_intp count) {
              if (step == 1) {
                std::memcpy(out + to, image + from, static_cast<size_t>(count) * sizeof(T));
              } else {
                for (npy_intp k = 0; k < count; ++k) out[to + k] = image[from + k * step];
              }
            },
            [=](npy_intp to, npy_intp count) { std::fill_n(out + to, count, T(0)); });
      }
    }
  });
}

// The adjoint: columns are added up where they lie.
template <class T>
void lay_columns(const Convolution& plan, const Part& part, const T* columns, T* of_input) {
  const npy_intp places = part.height * plan.columns.count, width = part.count * places, taps = plan.taps();
  parallel_for(plan.channels, std::max<npy_intp>(1, kGrain / (width * taps)), [&](npy_intp begin, npy_intp end) {
    for (npy_intp line = begin * taps; line < end * taps; ++line) {
      for (npy_intp n = 0; n < part.count; ++n) {
        T* image = of_input + ((part.first + n) * plan.channels + line / taps) * plan.in();
        const T* in = columns + line * width + n * places;
        for_rows(
            plan, part, line % taps,
            [=](npy_intp to, npy_intp from, npy_intp step, npy_intp count) {
              if (step == 1) {
                GRADWRIGHT_INDEPENDENT
                for (npy_intp k = 0; k < count; ++k) image[from + k] += in[to + k];
              } else {
                for (npy_intp k = 0; k < count; ++k) image[from + k * step] += in[to + k];
              }
            },
            [](npy_intp, npy_intp) {});
      }
    }
  });
}

// How the places of a part lie in the result: by channels in one image, else gathered into lines of all its images.
template <class T>
struct Lines {
  T* data;
  npy_intp step;  // from one channel to the next
};

// copy(line, plane, count) for each channel of the result and image of a part.
template <class T, class Copy>
void for_planes(const Convolution& plan, const Part& part, T* lines, T* out, Copy copy) {
  const npy_intp places = plan.out(), width = part.count * places;
  parallel_for(part.count * plan.made, std::max<npy_intp>(1, kGrain / places), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) {
      const npy_intp n = i / plan.made, channel = i % plan.made;
      copy(lines + channel * width + n * places, out + ((part.first + n) * plan.made + channel) * places, places);
    }
  });
}

template <class T>
constexpr Kind kKindOf = std::is_same_v<T, float> ? Kind::kFloat32 : Kind::kFloat64;

// A matrix of dense rows, and its transpose.
template <class T>
MatrixView dense(const T* data, npy_intp step) {
  return {const_cast<char*>(reinterpret_cast<const char*>(data)), step * static_cast<npy_intp>(sizeof(T)), sizeof(T)};
}
MatrixView transposed(MatrixView matrix) { return {matrix.data, matrix.column_step, matrix.row_step}; }

// `bias` added to planes of so many places, `step` apart, of which those of one image have the channels in their order.
template <class T>
void add_bias(T* out, npy_intp planes, npy_intp channels, npy_intp step, npy_intp places, const T* bias) {
  parallel_for(planes, std::max<npy_intp>(1, kGrain / places), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) {
      const T term = bias[i % channels];
      T* at = out + i * step;
      for (npy_intp k = 0; k < places; ++k) at[k] += term;
    }
  });
}

// The sums over all images and places.
template <class T>
void sum_channels(const T* in, npy_intp batch, npy_intp channels, npy_intp places, T* out) {
  parallel_for(channels, std::max<npy_intp>(1, kGrain / (batch * places)), [&](npy_intp begin, npy_intp end) {
    for (npy_intp channel = begin; channel < end; ++channel) {
      T total = 0;
      for (npy_intp n = 0; n < batch; ++n) total += sum_dense(in + (n * channels + channel) * places, places);
      out[channel] = total;
    }
  });
}

template <class T>
void forward(const Convolution& plan, const T* in, const T* weight, const T* bias, T* out) {
  const npy_intp inner = plan.inner(), each = plan.each();
  Buffer<T> columns, products;
  for_parts(plan, [&](const Part& part) {
    const npy_intp places = part.height * plan.columns.count, width = part.count * places;
    const bool direct = part.count == 1;
    T* plane = out + part.first * plan.made * plan.out() + part.top * plan.columns.count;
    const Lines<T> to = direct ? Lines<T>{plane, plan.out()} : Lines<T>{products.of(plan.made * width), width};
    const T* windows = in + part.first * plan.channels * plan.in() + part.top * plan.columns.count;
    npy_intp step = plan.in();
    if (!plan.is_pointwise()) {
      T* made = columns.of(plan.groups * inner * width);
      fill_columns(plan, part, in, made);
      windows = made;
      step = width;
    }
    for (npy_intp g = 0; g < plan.groups; ++g) {
      multiply_into(kKindOf<T>, each, inner, width, dense(weight + g * each * inner, inner),
                    dense(windows + g * inner * step, step), dense(to.data + g * each * to.step, to.step));
    }
    if (!direct) {
      for_planes(plan, part, to.data, out,
                 [](const T* line, T* plane, npy_intp count) { std::copy_n(line, count, plane); });
    }
    if (bias != nullptr) add_bias(plane, part.count * plan.made, plan.made, plan.out(), places, bias);
  });
}

template <class T>
void backward(const Convolution& plan, const T* grad, const T* in, const T* weight, const Gradients<T>& gradients) {
  const npy_intp inner = plan.inner(), each = plan.each(), weights = plan.made * inner;
  Buffer<T> columns, lines, sums;
  T *of_input = gradients.of_input, *of_weight = gradients.of_weight;
  const bool pointwise = plan.is_pointwise();
  if (of_input != nullptr && !pointwise) std::fill_n(of_input, plan.batch * plan.channels * plan.in(), T(0));
  bool first = true;
  for_parts(plan, [&](const Part& part) {
    const npy_intp places = part.height * plan.columns.count, width = part.count * places;
    const bool direct = part.count == 1;
    const npy_intp start = part.first * plan.made * plan.out() + part.top * plan.columns.count;
    Lines<const T> from = {grad + start, plan.out()};
    if (!direct) {
      T* gathered = lines.of(plan.made * width);
      for_planes<T>(plan, part, gathered, const_cast<T*>(grad),
                    [](T* line, const T* plane, npy_intp count) { std::copy_n(plane, count, line); });
      from = {gathered, width};
    }
    const npy_intp image = part.first * plan.channels * plan.in() + part.top * plan.columns.count;
    if (of_input != nullptr) {
      T* to = pointwise ? of_input + image : columns.of(plan.groups * inner * width);
      const npy_intp step = pointwise ? plan.in() : width;
      for (npy_intp g = 0; g < plan.groups; ++g) {
        multiply_into(kKindOf<T>, inner, each, width, transposed(dense(weight + g * each * inner, inner)),
                      dense(from.data + g * each * from.step, from.step), dense(to + g * inner * step, step));
      }
      if (!pointwise) lay_columns(plan, part, to, of_input);
    }
    if (of_weight == nullptr) return;
    const T* windows = in + image;
    npy_intp step = plan.in();
    if (!pointwise) {
      T* made = columns.of(plan.groups * inner * width);
      fill_columns(plan, part, in, made);
      windows = made;
      step = width;
    }
    T* to = first ? of_weight : sums.of(weights);
    for (npy_intp g = 0; g < plan.groups; ++g) {
      multiply_into(kKindOf<T>, each, width, inner, dense(from.data + g * each * from.step, from.step),
                    transposed(dense(windows + g * inner * step, step)), dense(to + g * each * inner, inner));
    }
    if (!first) {
      for (npy_intp i = 0; i < weights; ++i) of_weight[i] += to[i];
    }
    first = false;
  });
  if (gradients.of_bias != nullptr) sum_channels(grad, plan.batch, plan.made, plan.out(), gradients.of_bias);
}

// The dimensions of images that have loops: planes, rows, columns.
constexpr int kImageDims = 3;

// A number for each of `dims` dimensions, as the Python kernel reads them; false for what it refuses.
bool read_numbers(PyObject* given, int dims, npy_intp least, npy_intp* numbers) {
  if (!PyTuple_CheckExact(given)) return false;
  const Py_ssize_t size = PyTuple_GET_SIZE(given);
  if (size != 1 && size != dims) return false;
  for (int i = 0; i < dims; ++i) {
    PyObject* number = PyTuple_GET_ITEM(given, size == 1 ? 0 : i);
    if (!detail::read_int(number, numbers + i) || numbers[i] < least) return false;
  }
  return true;
}

// Whether there is a loop for a convolution, or for the adjoint of one, and how its windows lie.
bool read_plan(PyArrayObject* input, PyArrayObject* weight, PyObject* stride, PyObject* padding, PyObject* dilation,
               PyObject* transposed, PyObject* output_padding, PyObject* groups, Convolution& plan) {
  const int dims = PyArray_NDIM(input) - 2;
  const Kind kind = kind_of(input);
  if (dims < 1 || dims > kImageDims || kind == Kind::kNone || kind_of(weight) != kind || PyArray_NDIM(weight) != dims + 2)
    return false;
  if (!is_dense(weight) || PyArray_SIZE(input) == 0 || PyArray_SIZE(weight) == 0) return false;
  if (!PyBool_Check(transposed) || !detail::read_int(groups, &plan.groups) || plan.groups < 1) return false;
  const bool adjoint = transposed == Py_True;
  plan.batch = PyArray_DIM(input, 0);
  plan.channels = PyArray_DIM(weight, 1) * plan.groups;
  plan.made = PyArray_DIM(weight, 0);
  if ((adjoint ? plan.made : plan.channels) != PyArray_DIM(input, 1) || plan.made % plan.groups != 0) return false;
  npy_intp steps[kImageDims], pads[kImageDims], wide[kImageDims], more[kImageDims];
  if (!read_numbers(stride, dims, 1, steps) || !read_numbers(padding, dims, 0, pads) ||
      !read_numbers(dilation, dims, 1, wide)) {
    return false;
  }
  if (adjoint && !read_numbers(output_padding, dims, 0, more)) return false;
  plan.planes = plan.rows = {1, 1, 1, 1, 0, 1};
  for (int i = 0; i < dims; ++i) {
    const npy_intp size = PyArray_DIM(input, 2 + i), kernel = PyArray_DIM(weight, 2 + i);
    const npy_intp span = wide[i] * (kernel - 1) + 1;
    Along& along = i == dims - 1 ? plan.columns : i == dims - 2 ? plan.rows : plan.planes;
    if (adjoint) {
      const npy_intp whole = (size - 1) * steps[i] - 2 * pads[i] + span + more[i];
      if (whole <= 0 || more[i] >= steps[i]) return false;
      along = {whole, size, kernel, steps[i], pads[i], wide[i]};
    } else {
      const npy_intp left = size + 2 * pads[i] - span;
      if (left < 0) return false;
      along = {size, left / steps[i] + 1, kernel, steps[i], pads[i], wide[i]};
    }
  }
  return true;
}

// The shape of the result: that of the input of what it is the adjoint of.
void result_sizes(PyArrayObject* input, const Convolution& plan, bool adjoint, npy_intp* sizes) {
  const int ndim = PyArray_NDIM(input);
  sizes[0] = plan.batch;
  sizes[1] = adjoint ? plan.channels : plan.made;
  sizes[ndim - 1] = adjoint ? plan.columns.size : plan.columns.count;
  if (ndim > 3) sizes[ndim - 2] = adjoint ? plan.rows.size : plan.rows.count;
  if (ndim > 4) sizes[2] = adjoint ? plan.planes.size : plan.planes.count;
}

template <class T>
void run_forward(const Convolution& plan, const T* in, const T* weight, const T* bias, T* out) {
  (plan.is_depthwise() ? depthwise::forward<T> : forward<T>)(plan, in, weight, bias, out);
}
template <class T>
void run_backward(const Convolution& plan, const T* grad, const T* in, const T* weight, const Gradients<T>& gradients) {
  (plan.is_depthwise() ? depthwise::backward<T> : backward<T>)(plan, grad, in, weight, gradients);
}

// Multiplications and additions, roughly.
npy_intp work_of(const Convolution& plan) { return plan.batch * plan.made * plan.out() * plan.inner(); }

// Whether zeros of the padding may be passed over, as they are where channels have windows of their own: times weights that
// are not finite they would be NaN.
bool may_pass_over(const Convolution& plan, PyArrayObject* weight, Kind kind) {
  if (!plan.is_depthwise() || (plan.rows.padding == 0 && plan.columns.padding == 0)) return true;
  bool finite = true;
  const bool seen = run_for(kind, PyArray_SIZE(weight), [&]<class T>(T) {
    const T* by = elements<const T>(weight);
    finite = std::all_of(by, by + PyArray_SIZE(weight), [](T value) { return std::isfinite(value); });
  });
  return seen && finite;
}

}  // namespace

namespace kernels {

Ref convolution(PyObject* input, PyObject* weight, PyObject* bias, PyObject* stride, PyObject* padding,
                PyObject* dilation, PyObject* transposed, PyObject* output_padding, PyObject* groups) {
  PyArrayObject *images = array_of(input), *factors = array_of(weight);
  Convolution plan;
  if (!read_plan(images, factors, stride, padding, dilation, transposed, output_padding, groups, plan))
    return declined(kOtherConvolution);
  const Kind kind = kind_of(images);
  const bool adjoint = transposed == Py_True;
  npy_intp sizes[kImageDims + 2];
  result_sizes(images, plan, adjoint, sizes);
  if (bias != Py_None) {
    PyArrayObject* terms = array_of(bias);
    if (kind_of(terms) != kind || !is_dense(terms) || PyArray_NDIM(terms) != 1 || PyArray_SIZE(terms) != sizes[1]) {
      return declined(kOtherConvolution);
    }
  }
  if (!adjoint && !may_pass_over(plan, factors, kind)) return declined(kOtherConvolution);
  Ref dense_input = usable(input, kind);
  Ref out = dense_input ? new_array(PyArray_NDIM(images), sizes, kind) : Ref();
  if (!out) return out;
  const Held held{weight, bias};
  const bool done = run_for(kind, work_of(plan), [&]<class T>(T) {
    const T *in = elements<const T>(as_ndarray(dense_input)), *by = elements<const T>(factors);
    const T* terms = data_or_null<const T>(held[1]);
    T* to = elements<T>(as_ndarray(out));
    if (!adjoint) {
      run_forward(plan, in, by, terms, to);
      return;
    }
    run_backward(plan, in, in, by, Gradients<T>{to, nullptr, nullptr});  // no input is needed for this gradient
    if (terms != nullptr) add_bias(to, plan.batch * plan.channels, plan.channels, plan.in(), plan.in(), terms);
  });
  return done ? std::move(out) : Ref();
}
GRADWRIGHT_KERNEL(convolution, 9, tensors)

Ref convolution_backward(PyObject* grad_output, PyObject* input, PyObject* weight, PyObject* bias_sizes,
                         PyObject* stride, PyObject* padding, PyObject* dilation, PyObject* transposed,
                         PyObject* output_padding, PyObject* groups, PyObject* output_mask) {
  (void)bias_sizes;
  PyArrayObject *images = array_of(input), *factors = array_of(weight), *given = array_of(grad_output);
  Convolution plan;
  if (!read_plan(images, factors, stride, padding, dilation, transposed, output_padding, groups, plan))
    return declined(kOtherConvolution);
  const Kind kind = kind_of(images);
  const bool adjoint = transposed == Py_True;
  npy_intp sizes[kImageDims + 2];
  result_sizes(images, plan, adjoint, sizes);
  const int ndim = PyArray_NDIM(images);
  if (PyArray_NDIM(given) != ndim || !std::equal(sizes, sizes + ndim, PyArray_DIMS(given)))
    return declined(kOtherConvolution);
  if (!PyTuple_CheckExact(output_mask) || PyTuple_GET_SIZE(output_mask) != 3) return declined(kOtherConvolution);
  if (adjoint && !may_pass_over(plan, factors, kind)) return declined(kOtherConvolution);
  Ref gradient = usable(grad_output, kind), dense_input = usable(input, kind);
  if (!gradient || !dense_input) return declined(kOtherConvolution);
  Ref results[3];
  for (int i = 0; i < 3; ++i) {
    PyArrayObject* like = i == 0 ? images : factors;
    results[i] = PyTuple_GET_ITEM(output_mask, i) == Py_True
                     ? new_array(i == 2 ? 1 : ndim, i == 2 ? sizes + 1 : PyArray_DIMS(like), kind)
                     : Ref::borrow(Py_None);
    if (!results[i]) return Ref();
  }
  const Held held{weight};
  const bool done = run_for(kind, work_of(plan), [&]<class T>(T) {
    const Gradients<T> to = {data_or_null<T>(results[0]), data_or_null<T>(results[1]), data_or_null<T>(results[2])};
    const T *grad = elements<const T>(as_ndarray(gradient)), *in = elements<const T>(as_ndarray(dense_input));
    const T* by = elements<const T>(factors);
    if (!adjoint) {
      run_backward(plan, grad, in, by, to);
      return;
    }
    if (to.of_input != nullptr) run_forward<T>(plan, grad, by, nullptr, to.of_input);
    if (to.of_weight != nullptr) run_backward(plan, in, grad, by, Gradients<T>{nullptr, to.of_weight, nullptr});
    if (to.of_bias != nullptr) sum_channels(grad, plan.batch, plan.channels, plan.in(), to.of_bias);
  });
  return done ? Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get())) : Ref();
}
GRADWRIGHT_KERNEL(convolution_backward, 11, tensors)

}  // namespace kernels

namespace {

Operator convolution_operator{"convolution_default"};

// Of a batch; what has none, and padding that is a word, are Python's.
Ref convolve(int dims, PyObject* input, PyObject* weight, PyObject* bias, PyObject* stride, PyObject* padding,
             PyObject* dilation, PyObject* groups) {
  if (PyArray_NDIM(array_of(input)) != dims + 2) return Ref();
  const npy_intp none[kImageDims] = {};
  Ref steps = detail::int_list(stride), pads = detail::int_list(padding), wide = detail::int_list(dilation);
  Ref more = detail::ints(none, dims);
  if (!steps || !pads || !wide || !more) return Ref();
  return convolution_operator(input, weight, bias, steps.get(), pads.get(), wide.get(), Py_False, more.get(), groups);
}

}  // namespace

namespace composites {

Ref conv1d(PyObject* input, PyObject* weight, PyObject* bias, PyObject* stride, PyObject* padding, PyObject* dilation,
           PyObject* groups) {
  return convolve(1, input, weight, bias, stride, padding, dilation, groups);
}
GRADWRIGHT_KERNEL(conv1d, 7, composite, by_sizes)
Ref conv2d(PyObject* input, PyObject* weight, PyObject* bias, PyObject* stride, PyObject* padding, PyObject* dilation,
           PyObject* groups) {
  return convolve(2, input, weight, bias, stride, padding, dilation, groups);
}
GRADWRIGHT_KERNEL(conv2d, 7, composite, by_sizes)
Ref conv3d(PyObject* input, PyObject* weight, PyObject* bias, PyObject* stride, PyObject* padding, PyObject* dilation,
           PyObject* groups) {
  return convolve(3, input, weight, bias, stride, padding, dilation, groups);
}
GRADWRIGHT_KERNEL(conv3d, 7, composite, by_sizes)

}  // namespace composites

}  // namespace gradwright
