// Sums in pairs over dense elements.

#include "pairwise.hpp"

#include "levels.hpp"

namespace gradwright {

namespace {

// Terms of a sum: the elements themselves, and products of two arrays' elements.
template <class T>
struct Elements {
  const T* in;
  GRADWRIGHT_INLINE T one(npy_intp i) const { return in[i]; }
  GRADWRIGHT_INLINE void eight(npy_intp i, Eight<T>& to) const { Eight<T>::load(in + i, to); }
  GRADWRIGHT_INLINE Elements from(npy_intp i) const { return {in + i}; }
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
  GRADWRIGHT_INLINE Products from(npy_intp i) const { return {a + i, b + i}; }
};

template <class T>
struct Pairwise {
  template <class Terms>
  static GRADWRIGHT_INLINE T block(Terms terms, npy_intp size) {
    if (size < 8) {
      T sum = T(-0.0);
      for (npy_intp i = 0; i < size; ++i) sum += terms.one(i);
      return sum;
    }
    const npy_intp whole = size - size % 8;
    Eight<T> sums, more;
    terms.eight(0, sums);
    for (npy_intp i = 8; i < whole; i += 8) {
      terms.eight(i, more);
      sums.add(more);
    }
    T sum = sums.sum();
    for (npy_intp i = whole; i < size; ++i) sum += terms.one(i);
    return sum;
  }

  template <class Terms>
  static T baseline(Terms terms, npy_intp size) {
    if (size <= kPairwiseBlock) return block(terms, size);
    const npy_intp half = pairwise_half(size);
    const T left = baseline(terms, half);
    return left + baseline(terms.from(half), size - half);
  }
#ifdef GRADWRIGHT_X86
  template <class Terms>
  __attribute__((target("avx2"))) static T avx2(Terms terms, npy_intp size) {
    if (size <= kPairwiseBlock) return block(terms, size);
    const npy_intp half = pairwise_half(size);
    const T left = avx2(terms, half);
    return left + avx2(terms.from(half), size - half);
  }
#endif

  // Eight elements fill the registers of AVX2: more than that brings nothing.
  template <class Terms>
  static T sum(Terms terms, npy_intp size) {
#ifdef GRADWRIGHT_X86
    if (detail::level > 0) return avx2(terms, size);
#endif
    return baseline(terms, size);
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
