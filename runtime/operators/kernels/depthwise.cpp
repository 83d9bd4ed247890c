// Convolutions whose channels each have a window of their own: there is no product of matrices in them, and rows of the input
// are added to rows of the result as they lie.

#include <algorithm>
#include <vector>

#include "depthwise.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

// work(tap, out, in, count): so many elements of a row of the result, from `out` on, have this tap in a row of the input,
// from `in` on, `stride` elements apart.
template <class Work>
GRADWRIGHT_INLINE void for_rows(const Convolution& plan, Work work) {
  const Along &rows = plan.rows, &columns = plan.columns;
  for (npy_intp y = 0; y < rows.count; ++y) {
    for (npy_intp i = 0; i < rows.kernel; ++i) {
      const npy_intp row = y * rows.stride + rows.start(i);
      if (row < 0 || row >= rows.size) continue;
      for (npy_intp j = 0; j < columns.kernel; ++j) {
        const npy_intp first = columns.first(j), count = columns.end(j) - first;
        if (count <= 0) continue;
        work(i * columns.kernel + j, y * columns.count + first,
             row * columns.size + first * columns.stride + columns.start(j), count);
      }
    }
  }
}

struct Forward {
  // Three taps next to each other at once: what most windows have, and a result is read and written once for all of them.
  template <class T>
  static GRADWRIGHT_INLINE void by_threes(const Convolution& plan, const T* in, const T* weight, T* out) {
    const Along &rows = plan.rows, &columns = plan.columns;
    const npy_intp wide = columns.dilation, begin = columns.start(0);
    const npy_intp first = columns.first(0), end = std::max(first, columns.end(2));  // all three are in the row
    for (npy_intp y = 0; y < rows.count; ++y, out += columns.count) {
      for (npy_intp i = 0; i < rows.kernel; ++i) {
        const npy_intp row = y * rows.stride + rows.start(i);
        if (row < 0 || row >= rows.size) continue;
        const T *from = in + row * columns.size, *by = weight + 3 * i, *at = from + begin;
        const T a = by[0], b = by[1], c = by[2];
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = first; k < end; ++k) out[k] += (a * at[k] + b * at[k + wide]) + c * at[k + 2 * wide];
        for (npy_intp j = 0; j < 3; ++j) {
          const npy_intp low = columns.first(j), high = columns.end(j);
          for (npy_intp k = low; k < std::min(first, high); ++k) out[k] += by[j] * from[k + columns.start(j)];
          for (npy_intp k = std::max(end, low); k < high; ++k) out[k] += by[j] * from[k + columns.start(j)];
        }
      }
    }
  }

  template <class T>
  static GRADWRIGHT_INLINE void run(const Convolution* plan, const T* __restrict in, const T* __restrict weight,
                                    T* __restrict out) {
    const npy_intp step = plan->columns.stride;
    if (step == 1 && plan->columns.kernel == 3) {
      by_threes(*plan, in, weight, out);
      return;
    }
    for_rows(*plan, [=](npy_intp tap, npy_intp to, npy_intp from, npy_intp count) {
      const T factor = weight[tap];
      if (step == 1) {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) out[to + k] += factor * in[from + k];
      } else {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) out[to + k] += factor * in[from + k * step];
      }
    });
  }
};

struct OfInput {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Convolution* plan, const T* __restrict grad, const T* __restrict weight,
                                    T* __restrict of_input) {
    const npy_intp step = plan->columns.stride;
    for_rows(*plan, [=](npy_intp tap, npy_intp to, npy_intp from, npy_intp count) {
      const T factor = weight[tap];
      if (step == 1) {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) of_input[from + k] += factor * grad[to + k];
      } else {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) of_input[from + k * step] += factor * grad[to + k];
      }
    });
  }
};

// For each tap a sum for each column, so that no element waits for the one before.
struct OfWeight {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Convolution* plan, const T* __restrict grad, const T* __restrict in,
                                    T* __restrict sums) {
    const npy_intp step = plan->columns.stride, width = plan->columns.count;
    for_rows(*plan, [=](npy_intp tap, npy_intp to, npy_intp from, npy_intp count) {
      T* row = sums + tap * width + to % width;
      if (step == 1) {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) row[k] += grad[to + k] * in[from + k];
      } else {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) row[k] += grad[to + k] * in[from + k * step];
      }
    });
  }
};

// How many planes are worth a thread.
npy_intp grain(const Convolution& plan) { return std::max<npy_intp>(1, kGrain / (plan.out() * plan.taps())); }

}  // namespace

namespace depthwise {

template <class T>
void forward(const Convolution& plan, const T* in, const T* weight, const T* bias, T* out) {
  const npy_intp made = plan.made;
  parallel_for(plan.batch * made, grain(plan), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) {
      const npy_intp channel = i % made;
      T* plane = out + i * plan.out();
      std::fill_n(plane, plan.out(), T(0));
      run_best<Forward>(&plan, in + i / plan.each() * plan.in(), weight + channel * plan.taps(), plane);
      if (bias == nullptr) continue;
      const T term = bias[channel];
      for (npy_intp k = 0; k < plan.out(); ++k) plane[k] += term;
    }
  });
}

template <class T>
void backward(const Convolution& plan, const T* grad, const T* in, const T* weight, const Gradients<T>& gradients) {
  const Convolution* each = &plan;
  const npy_intp width = plan.columns.count, made = plan.made;
  // A channel at a time, so that each sum has one thread.
  parallel_for(plan.channels, std::max<npy_intp>(1, grain(plan) / plan.batch), [&](npy_intp begin, npy_intp end) {
    std::vector<T> sums(gradients.of_weight != nullptr ? static_cast<size_t>(plan.taps() * width) : 0);
    for (npy_intp channel = begin; channel < end; ++channel) {
      if (gradients.of_input != nullptr) {
        for (npy_intp n = 0; n < plan.batch; ++n) {
          std::fill_n(gradients.of_input + (n * plan.channels + channel) * plan.in(), plan.in(), T(0));
        }
      }
      for (npy_intp one = channel * plan.each(); one < (channel + 1) * plan.each(); ++one) {
        std::fill(sums.begin(), sums.end(), T(0));
        T total = 0;
        for (npy_intp n = 0; n < plan.batch; ++n) {
          const T* from = grad + (n * made + one) * plan.out();
          const npy_intp image = (n * plan.channels + channel) * plan.in();
          if (gradients.of_input != nullptr)
            run_best<OfInput>(each, from, weight + one * plan.taps(), gradients.of_input + image);
          if (gradients.of_weight != nullptr) run_best<OfWeight>(each, from, in + image, sums.data());
          if (gradients.of_bias != nullptr) total += sum_dense(from, plan.out());
        }
        if (gradients.of_bias != nullptr) gradients.of_bias[one] = total;
        if (gradients.of_weight == nullptr) continue;
        for (npy_intp tap = 0; tap < plan.taps(); ++tap) {
          gradients.of_weight[one * plan.taps() + tap] = sum_dense(sums.data() + tap * width, width);
        }
      }
    }
  });
}

template void forward<float>(const Convolution&, const float*, const float*, const float*, float*);
template void forward<double>(const Convolution&, const double*, const double*, const double*, double*);
template void backward<float>(const Convolution&, const float*, const float*, const float*, const Gradients<float>&);
template void backward<double>(const Convolution&, const double*, const double*, const double*,
                               const Gradients<double>&);

}  // namespace depthwise

}  // namespace gradwright
