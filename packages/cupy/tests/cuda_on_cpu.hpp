// What kernels in CUDA C++ need to run on a CPU: one thread after the other.
#pragma once

#define GRADWRIGHT_ON_CPU
#define __global__ static
#define __device__

#include <cmath>
#include <utility>

using std::acos;
using std::asin;
using std::atan;
using std::atan2;
using std::ceil;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::exp2;
using std::expm1;
using std::floor;
using std::hypot;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
using std::trunc;

struct Dim3 { unsigned x; };
static Dim3 blockIdx, threadIdx, blockDim, gridDim;

// Calls a kernel for each thread with arguments that pointers lead to.
template <class... A, std::size_t... at>
void each_thread(void (*kernel)(A...), void** arguments, std::index_sequence<at...>) {
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(*static_cast<A*>(arguments[at])...);
}

template <class... A>
void run(void (*kernel)(A...), unsigned blocks, unsigned threads, void** arguments) {
  gridDim.x = blocks, blockDim.x = threads;
  each_thread(kernel, arguments, std::index_sequence_for<A...>());
}
