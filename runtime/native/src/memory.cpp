#include "memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace gradwright {

namespace {

constexpr size_t kHugePage = size_t{1} << 21;

// Bytes to keep at most, as long as nobody asks for another number.
size_t default_bound() {
#ifdef __SANITIZE_ADDRESS__
  return 0;  // memory that is kept hides who uses it after it was freed
#else
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  const size_t memory = pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) : 0;
  return std::min(size_t{1} << 28, memory / 16);
#endif
}

struct Block {
  void* memory;
  size_t size;
};

// What waits, the oldest first. Arrays may be freed while the process ends: it is never destroyed.
struct Kept {
  std::mutex mutex;
  std::deque<Block> blocks;
  size_t size = 0;
  size_t bound = default_bound();
};
Kept& kept = *new Kept;

PyObject* handler = nullptr;

// Sizes are rounded up, by an eighth at most, so that arrays of nearly one size can follow each other.
size_t rounded(size_t size) {
  size_t step = static_cast<size_t>(kLineBytes);
  while (step * 16 <= size) step *= 2;
  return (size + step - 1) / step * step;
}

// Aligned to the lines of the cache, and in large pages where it is large.
void* fresh(size_t size) {
  const bool huge = size >= 2 * kHugePage;
  const size_t unit = huge ? kHugePage : static_cast<size_t>(kLineBytes);
  void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
#ifdef MADV_HUGEPAGE
  if (memory != nullptr && huge) madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return memory;
}

// Frees the oldest until no more than `bound` bytes are left. The caller has the lock.
void trim(size_t bound) {
  while (kept.size > bound) {
    kept.size -= kept.blocks.front().size;
    std::free(kept.blocks.front().memory);
    kept.blocks.pop_front();
  }
}

void* allocate(void*, size_t size) {
  size = rounded(size);
  {
    const std::lock_guard lock(kept.mutex);
    // What was given back last is the most likely to be in a cache.
    const auto found = std::find_if(kept.blocks.rbegin(), kept.blocks.rend(),
                                    [size](const Block& block) { return block.size == size; });
    if (found != kept.blocks.rend()) {
      void* memory = found->memory;
      kept.blocks.erase(std::next(found).base());
      kept.size -= size;
      return memory;
    }
  }
  void* memory = fresh(size);
  if (memory != nullptr) return memory;
  const std::lock_guard lock(kept.mutex);
  trim(0);
  return fresh(size);
}

void* allocate_zeros(void* context, size_t count, size_t item) {
  void* memory = allocate(context, count * item);
  if (memory != nullptr) std::memset(memory, 0, count * item);
  return memory;
}

void* reallocate(void*, void* memory, size_t size) { return std::realloc(memory, rounded(size)); }

void give_back(void*, void* memory, size_t size) {
  if (memory == nullptr) return;
  size = rounded(size);
  const std::lock_guard lock(kept.mutex);
  if (size > kept.bound) {
    std::free(memory);
    return;
  }
  kept.blocks.push_back({memory, size});
  kept.size += size;
  trim(kept.bound);
}

PyDataMem_Handler functions = {
    "gradwright", 1, {nullptr, allocate, allocate_zeros, reallocate, give_back},
};

}  // namespace

namespace {

// What make() gives, an array of so many bytes; with memory that was kept, if it is large.
template <class Make>
Ref with_memory(size_t size, Make make) {
  const bool large = size >= static_cast<size_t>(kLargeArray) && kept.bound > 0;
  Ref others(large ? PyDataMem_SetHandler(handler) : nullptr);
  if (large && !others) return Ref();
  Ref array(make());
  if (large && !Ref(PyDataMem_SetHandler(others.get()))) return Ref();
  return array;
}

}  // namespace

Ref new_array(PyArray_Descr* dtype, int ndim, const npy_intp* dims, const npy_intp* strides) {
  if (dtype == nullptr) return Ref();
  auto size = static_cast<size_t>(PyDataType_ELSIZE(dtype));  // NumPy refuses what is too much for it
  for (int i = 0; i < ndim; ++i) size *= static_cast<size_t>(dims[i]);
  Ref owned(reinterpret_cast<PyObject*>(dtype));
  return with_memory(size, [&] {
    owned.release();
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, const_cast<npy_intp*>(dims), const_cast<npy_intp*>(strides),
                                nullptr, 0, nullptr);
  });
}

namespace {

thread_local PyArrayObject* awaiting = nullptr;

}  // namespace

Awaiting::Awaiting(PyArrayObject* array) { awaiting = array; }
Awaiting::~Awaiting() { awaiting = nullptr; }

Ref new_result(PyArray_Descr* dtype, int ndim, const npy_intp* dims, const npy_intp* strides) {
  if (PyArrayObject* array = std::exchange(awaiting, nullptr); array != nullptr) {
    const bool same = PyArray_DESCR(array) == dtype && PyArray_NDIM(array) == ndim &&
                      std::equal(dims, dims + ndim, PyArray_DIMS(array)) &&
                      (strides == nullptr ? PyArray_IS_C_CONTIGUOUS(array) != 0
                                          : std::equal(strides, strides + ndim, PyArray_STRIDES(array)));
    if (same) {
      Py_DECREF(dtype);
      return Ref::borrow(reinterpret_cast<PyObject*>(array));
    }
  }
  return new_array(dtype, ndim, dims, strides);
}

Ref new_array_like(PyArrayObject* array) {
  return with_memory(static_cast<size_t>(PyArray_NBYTES(array)),
                     [&] { return PyArray_NewLikeArray(array, NPY_KEEPORDER, nullptr, 0); });
}

bool ready_memory() {
  if (handler == nullptr) handler = PyCapsule_New(&functions, "mem_handler", nullptr);
  return handler != nullptr;
}

PyObject* keep_memory(PyObject*, PyObject* bound) {
  const size_t bytes = PyLong_AsSize_t(bound);
  if (bytes == static_cast<size_t>(-1) && PyErr_Occurred()) return nullptr;
  const std::lock_guard lock(kept.mutex);
  kept.bound = bytes;
  trim(bytes);
  Py_RETURN_NONE;
}

PyObject* kept_memory(PyObject*, PyObject*) {
  const std::lock_guard lock(kept.mutex);
  return Py_BuildValue("nn", static_cast<Py_ssize_t>(kept.bound), static_cast<Py_ssize_t>(kept.size));
}

}  // namespace gradwright
