#include "formulas.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace gradwright {

namespace detail {

namespace {

// A step with its loop and its operands found.
struct Stage {
  LoopFunction function;
  void* data;
  int count;  // operands and result
  int slots[5];
  npy_intp steps[5];
};

// A formula over arrays that were looked at.
struct Formula {
  Stage stages[kMostSteps];
  int count;
  int given;                   // slots from here on are temporaries
  char* data[kMostSlots];      // of what is given
  npy_intp moves[kMostSlots];  // from element to element
  char* result;
  npy_intp block;  // elements

  void run(npy_intp begin, npy_intp end) const {
    alignas(64) char memory[kMostTemporaries][kBlockBytes];
    char* at[kMostSlots];
    for (int slot = given; slot < kMostSlots && slot < given + kMostTemporaries; ++slot)
      at[slot] = memory[slot - given];
    for (npy_intp start = begin; start < end; start += block) {
      const npy_intp size = std::min(block, end - start);
      for (int slot = 0; slot < given; ++slot) at[slot] = data[slot] + start * moves[slot];
      for (int i = 0; i < count; ++i) {
        const Stage& stage = stages[i];
        char* args[5];
        for (int k = 0; k < stage.count; ++k) args[k] = at[stage.slots[k]];
        const int last = stage.count - 1;
        if (i == count - 1) args[last] = result + start * stage.steps[last];
        stage.function(args, &size, stage.steps, stage.data);
      }
    }
  }
};

// Elements of a loop that run before the next loop does: what several of them read is then in the nearest cache, and all
// that they read and write comes and goes as steadily as in one loop.
constexpr npy_intp kInterleavedBlock = 512;

}  // namespace

// A loop over so many elements that other threads should help, and run Python meanwhile.
struct Work {
  std::function<void(npy_intp begin, npy_intp end)> body;
  npy_intp size;
  std::vector<Ref> held;  // the arrays that it reads
};

namespace {

// Over the same number of elements, a block of each in turn.
void run_block_by_block(const Work* works, size_t count) {
  ReleaseGil without_gil;
  parallel_for(works->size, kGrain, [&](npy_intp begin, npy_intp end) {
    const npy_intp part = count == 1 ? end - begin : kInterleavedBlock;
    for (npy_intp start = begin; start < end; start += part) {
      for (size_t i = 0; i < count; ++i) works[i].body(start, std::min(start + part, end));
    }
    end_streaming();
  });
}

// The arrays of the Tensors. A private gradient outlives the loop, and nobody is to hold its array, so that a later formula
// may take its memory.
std::vector<Ref> hold(PyObject* const* given, int tensors, const InterleavedFormulas* interleaved) {
  std::vector<Ref> held;
  for (int slot = 0; slot < tensors; ++slot) {
    PyObject* tensor = given[slot];
    if (interleaved != nullptr && tensor == interleaved->gradient() && is_private(tensor)) continue;
    held.push_back(Ref::borrow(as_tensor(tensor)->array));
  }
  return held;
}

void run_or_wait(InterleavedFormulas* interleaved, Work work) {
  if (interleaved != nullptr) {
    interleaved->add(std::move(work));
  } else {
    run_block_by_block(&work, 1);
  }
}

// The step of a Tensor through the elements of its shape: 0 where it is one element repeated; -1 where it is not dense.
npy_intp step_of(PyArrayObject* array) {
  if (is_dense(array)) return PyArray_ITEMSIZE(array);
  if (!PyArray_ISBEHAVED_RO(array)) return -1;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_DIM(array, i) != 1 && PyArray_STRIDE(array, i) != 0) return -1;
  }
  return 0;
}

}  // namespace

namespace {

// A Tensor for the result: the gradient itself, if its memory may be taken. Null with an exception where there is none.
struct Result {
  Ref tensor;
  bool reused;

  Result(bool reuses, PyObject* donated, int type, PyArrayObject* like) : reused(reuses) {
    Ref fresh = reuses ? Ref() : new_array(type, PyArray_NDIM(like), PyArray_DIMS(like));
    if (reuses || fresh) tensor = reuses ? Ref::borrow(donated) : new_tensor(std::move(fresh));
  }
};

// A loop with its operands and the result.
struct Joint {
  LoopFunction function;
  void* data;
  int count;
  char* args[kMostOperands + 1];
  npy_intp moves[kMostOperands + 1];

  void operator()(npy_intp begin, npy_intp end) const {
    char* from[kMostOperands + 1];
    for (int k = 0; k < count; ++k) from[k] = args[k] + begin * moves[k];
    const npy_intp part = end - begin;
    function(from, &part, moves, data);
  }
};

// The formula as one function of elements.
Ref run_joint(const Loop& loop, const Formula& formula, Result result, PyObject* const* given, int tensors,
              InterleavedFormulas* interleaved) {
  if (!result.tensor) return std::move(result.tensor);
  auto* out = array_of(result.tensor.get());
  const npy_intp size = PyArray_SIZE(out), item = PyArray_ITEMSIZE(out);
  char* args[kMostOperands + 1];
  npy_intp moves[kMostOperands + 1], bytes = PyArray_NBYTES(out);
  std::copy_n(formula.data, formula.given, args);
  std::copy_n(formula.moves, formula.given, moves);
  args[formula.given] = PyArray_BYTES(out);
  moves[formula.given] = item;
  if (size < kGrain) {
    loop.function(args, &size, moves, loop.data);
    return std::move(result.tensor);
  }
  for (int slot = 0; slot < tensors; ++slot) bytes += size * moves[slot];
  const LoopFunction function = !result.reused && bypasses_cache(loop, bytes) ? loop.streaming : loop.function;
  Joint body = {function, loop.data, formula.given + 1, {}, {}};
  std::copy_n(args, body.count, body.args);
  std::copy_n(moves, body.count, body.moves);
  run_or_wait(interleaved, {body, size, hold(given, tensors, interleaved)});
  return std::move(result.tensor);
}

}  // namespace

namespace {

// The loop over plain Tensors, of which none is to be recorded.
Ref run_loop_of(const FormulaTable& table, int donated, PyObject* const* given, InterleavedFormulas* interleaved) {
  const auto [steps, count, tensors, numbers, joint] = table;
  Formula formula;
  Operand operands[kMostSlots];
  int types[kMostSlots];
  PyArrayObject* first = nullptr;
  int type = -1;  // that of numbers
  for (int slot = 0; slot < tensors; ++slot) {
    PyArrayObject* array = array_of(given[slot]);
    types[slot] = type_of(array);
    if (types[slot] != NPY_BOOL) type = types[slot];
    if (first == nullptr) first = array;
    if (!same_shape(first, array)) return Ref();
    formula.data[slot] = PyArray_BYTES(array);
    formula.moves[slot] = step_of(array);
    if (formula.moves[slot] < 0) return Ref();
  }
  if (type != NPY_FLOAT && type != NPY_DOUBLE) return Ref();
  formula.given = tensors + numbers;
  for (int slot = tensors; slot < formula.given; ++slot) {
    if (!operands[slot].set(given[slot])) return Ref();
    types[slot] = type;
    formula.data[slot] = operands[slot].data(type);
    formula.moves[slot] = 0;
  }
  // Numbers live no longer than this call; what waits may read what this one writes.
  if (interleaved != nullptr && numbers > 0) {
    interleaved->finish();
    interleaved = nullptr;
  }
  const bool alike = std::all_of(types, types + tensors, [type](int own) { return own == type; });
  if (const Loop* loop = joint != nullptr && alike ? joint(type) : nullptr) {
    const bool reuses = donated >= 0 && formula.moves[donated] != 0 && is_private(given[donated]);
    return run_joint(*loop, formula, Result(reuses, reuses ? given[donated] : nullptr, type, first), given, tensors,
                     interleaved);
  }
  formula.count = count;
  formula.block = kBlockBytes / static_cast<npy_intp>(type == NPY_FLOAT ? sizeof(float) : sizeof(double));
  const Loop* last_loop = nullptr;
  for (int i = 0; i < count; ++i) {
    const Step& step = steps[i];
    Stage& stage = formula.stages[i];
    int own[4];
    for (int k = 0; k < step.count; ++k) own[k] = types[step.operands[k]];
    const Loop* loop = last_loop = step.loop(own);
    if (loop == nullptr) return Ref();
    // Temporaries have room for elements of the formula's type.
    const int made = loop->result;
    if (made != type && made != NPY_BOOL) return Ref();
    stage.function = loop->function;
    stage.data = loop->data;
    stage.count = step.count + 1;
    for (int k = 0; k <= step.count; ++k) {
      const int slot = k < step.count ? step.operands[k] : step.result;
      const int item_type = k < step.count ? types[slot] : made;
      const npy_intp item = item_type == NPY_BOOL ? 1 : type == NPY_FLOAT ? sizeof(float) : sizeof(double);
      stage.slots[k] = slot;
      stage.steps[k] = k < step.count && slot < formula.given ? formula.moves[slot] : item;
    }
    types[step.result] = made;
  }
  const Step& last = steps[count - 1];
  const int made = types[last.result];
  const bool reuses = donated >= 0 && types[donated] == made && formula.moves[donated] != 0 && is_private(given[donated]) &&
                      (last_loop->in_place ||
                       std::find(last.operands, last.operands + last.count, donated) == last.operands + last.count);
  Ref out = std::move(Result(reuses, reuses ? given[donated] : nullptr, made, first).tensor);
  if (!out) return out;
  auto* result = array_of(out.get());
  formula.result = PyArray_BYTES(result);
  const npy_intp size = PyArray_SIZE(result);
  npy_intp bytes = PyArray_NBYTES(result);
  for (int slot = 0; slot < tensors; ++slot) bytes += size * formula.moves[slot];
  if (!reuses && bypasses_cache(*last_loop, bytes)) formula.stages[count - 1].function = last_loop->streaming;
  if (size < kGrain) {
    formula.run(0, size);
  } else {
    const auto body = [formula](npy_intp begin, npy_intp end) { formula.run(begin, end); };
    run_or_wait(interleaved, {body, size, hold(given, tensors, interleaved)});
  }
  return out;
}

bool is_large(PyObject* tensor) { return PyArray_NBYTES(array_of(tensor)) >= kLargeArray; }

}  // namespace

}  // namespace detail

// Apart from the loop, whose frame is large: what is recorded should lose no time.
Ref FormulaTable::run_with(int donated, PyObject* const* given, InterleavedFormulas* interleaved) const {
  if (unusual != 0 || kernels_replaced != 0) return Ref();
  const int checked = interleaved != nullptr ? 0 : donated;  // of one kernel: the slot that has to be large
  if (count == 1) {
    if (checked < 0 || !is_plain(given[checked]) || !detail::is_large(given[checked])) return Ref();
    if (interleaved == nullptr && !is_private(given[donated])) return Ref();
  }
  for (int slot = 0; slot < tensors; ++slot) {
    if (!is_plain(given[slot]) || (grad_enabled && requires_grad(given[slot]))) return Ref();
  }
  return detail::run_loop_of(*this, donated, given, interleaved);
}

void InterleavedFormulas::add(detail::Work&& work) {
  if (works_ == nullptr) works_ = new std::vector<detail::Work>;
  works_->push_back(std::move(work));
}

void InterleavedFormulas::run() {
  for (auto first = works_->begin(); first != works_->end();) {
    const auto last = std::find_if(first, works_->end(), [&](const auto& work) { return work.size != first->size; });
    detail::run_block_by_block(&*first, static_cast<size_t>(last - first));
    first = last;
  }
  forget();
}

void InterleavedFormulas::forget() {
  delete works_;
  works_ = nullptr;
}

}  // namespace gradwright
