// Sums in pairs over dense elements.

#include "pairwise.hpp"

#include "generations.hpp"

namespace gradwright {

namespace {

// Terms of a sum: the elements themselves, and products of two arrays' elements.
template <class T>
struct Elements {
  const T* in;
  GRADWRIGHT_INLINE T one(npy_intp i) const { return in[i]; }
  GRADWRIGHT_INLINE void eight(npy_intp i, Eight<T>& to) const { Eight<T>::load(in + i, to); }
};

template <class T>
struct Products {
  const T *a, *b;
  GRADWRIGHT_INLINE T one(npy_intp i) const { return a[i] * b[i]; }
  GRADWRIGHT_INLINE void eight(npy_intp i, Eight<T>& to) const {
    Eight<T> right;
    Eight<T>::load(a + i, to);
    Eight<T>::load(b + i, right);
    to.times(right);
  }
};

template <class T>
struct Pairwise {
  template <class Terms>
  static GRADWRIGHT_INLINE T block(const Terms& terms, npy_intp begin, npy_intp size) {
    const npy_intp end = begin + size, whole = end - size % 8;
    if (size < 8) {
      T sum = T(-0.0);
      for (npy_intp i = begin; i < end; ++i) sum += terms.one(i);
      return sum;
    }
    Eight<T> sums, more;
    terms.eight(begin, sums);
    for (npy_intp i = begin + 8; i < whole; i += 8) {
      terms.eight(i, more);
      sums.add(more);
    }
    T sum = sums.sum();
    for (npy_intp i = whole; i < end; ++i) sum += terms.one(i);
    return sum;
  }

  template <class Terms>
  static T baseline(const Terms& terms, npy_intp begin, npy_intp size) {
    if (size <= kPairwiseBlock) return block(terms, begin, size);
    const npy_intp half = pairwise_half(size);
    const T left = baseline(terms, begin, half);
    return left + baseline(terms, begin + half, size - half);
  }
#ifdef GRADWRIGHT_X86
  template <class Terms>
  __attribute__((target("avx2"))) static T avx2(const Terms& terms, npy_intp begin, npy_intp size) {
    if (size <= kPairwiseBlock) return block(terms, begin, size);
    const npy_intp half = pairwise_half(size);
    const T left = avx2(terms, begin, half);
    return left + avx2(terms, begin + half, size - half);
  }
#endif

  // Eight elements fill the registers of AVX2: more than that brings nothing.
  template <class Terms>
  static T sum(const Terms& terms, npy_intp size) {
#ifdef GRADWRIGHT_X86
    if (detail::generation > 0) return avx2(terms, 0, size);
#endif
    return baseline(terms, 0, size);
  }
};

}  // namespace

float sum_dense(const float* in, npy_intp size) { return Pairwise<float>::sum(Elements<float>{in}, size); }
double sum_dense(const double* in, npy_intp size) { return Pairwise<double>::sum(Elements<double>{in}, size); }
float dot_dense(const float* a, const float* b, npy_intp size) {
  return Pairwise<float>::sum(Products<float>{a, b}, size);
}
double dot_dense(const double* a, const double* b, npy_intp size) {
  return Pairwise<double>::sum(Products<double>{a, b}, size);
}

}  // namespace gradwright
