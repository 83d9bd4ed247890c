// Threads for loops over large arrays.
//
// One pool serves the process. It has no threads until a loop asks for them, and workers never touch Python. The thread
// that calls a loop works on it too, and never waits for a worker that has not begun: so calls from many threads, from a
// forked child or while the process ends come to an end whatever happens to the workers.

#pragma once

#include "core.hpp"

#include <atomic>
#include <new>
#include <type_traits>

namespace gradwright {

namespace detail {

extern std::atomic<int> thread_count;

// `body` on parts of [0, size), each of which starts at a multiple of `grain`, on several threads.
using Part = void (*)(void* body, npy_intp begin, npy_intp end);
void run_in_parts(npy_intp size, npy_intp grain, Part part, void* body);

}  // namespace detail

// How many threads a loop may use, the calling one among them.
inline int num_threads() { return detail::thread_count.load(std::memory_order_relaxed); }

// At least 1. The loops that run already keep their number.
void set_num_threads(int count);

// Whether this thread is in the body of a parallel loop.
bool in_parallel();

// body(begin, end) on parts that make up [0, size), on several threads; in one piece, on this thread, where `size` is at
// most `grain`, where there is one thread, and within another such loop. Parts start at multiples of `grain`, which should
// be worth some microseconds of work at least.
//
// To be called without the GIL where the body may take long; the body must not touch Python objects' reference counts. An
// exception of the body is thrown here again, the first where there are several; what had not begun by then is left out.
//
// Each element must be computed in the same way wherever the parts begin, so that results do not depend on threads.
template <class Body>
void parallel_for(npy_intp size, npy_intp grain, Body&& body) {
  if (size <= 0) return;
  if (grain < 1) grain = 1;
  if (size <= grain || num_threads() == 1 || in_parallel()) {
    body(npy_intp{0}, size);
    return;
  }
  detail::run_in_parts(
      size, grain,
      [](void* self, npy_intp begin, npy_intp end) {
        (*static_cast<std::remove_reference_t<Body>*>(self))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Lets other Python threads run for as long as it lives. With `wanted` false it does nothing: where there is little work,
// the change costs more than it brings.
class ReleaseGil {
 public:
  explicit ReleaseGil(bool wanted = true) : state_(wanted ? PyEval_SaveThread() : nullptr) {}
  ~ReleaseGil() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  PyThreadState* state_;
};

// Runs work(), without the GIL if `released`. False where memory is short; there is no Python exception then: whoever
// tries next may raise one. Arrays that are read have to be held by the caller: other threads may let go of theirs.
template <class Work>
bool run_long(bool released, Work work) {
  try {
    const ReleaseGil without_gil(released);
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Elements of cheap element-wise work that are worth a thread of their own, and the release of the GIL.
constexpr npy_intp kGrain = 32768;

}  // namespace gradwright
