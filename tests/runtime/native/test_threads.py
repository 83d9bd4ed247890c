"""Threads of the native core: the functions that set their number, and the loops themselves, from C++."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import gradwright
from runtime.native import threads
from support.compiling import loaded

PROGRAM = r"""
#include "parallel.hpp"
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
using namespace gradwright;

extern "C" {
void set_threads(int count) { set_num_threads(count); }

// How often each element was visited, and by how many threads; -1 for a part that starts in a wrong place.
int visit(long size, long grain, int* visits, int microseconds) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<bool> wrong = false;
  parallel_for(size, grain, [&](npy_intp begin, npy_intp end) {
    if (begin >= end || (grain > 0 && begin % grain != 0)) wrong = true;
    for (npy_intp i = begin; i < end; ++i) __atomic_fetch_add(visits + i, 1, __ATOMIC_RELAXED);
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  return wrong ? -1 : static_cast<int>(threads.size());
}

// The message of the exception that comes out, and what a loop does after it.
int fail(long size, char* message) {
  try {
    parallel_for(size, 1, [&](npy_intp begin, npy_intp end) {
      if (begin <= size / 2 && size / 2 < end) throw std::runtime_error("from the body");
    });
  } catch (const std::runtime_error& error) {
    std::strcpy(message, error.what());
  }
  std::atomic<long> sum = 0;
  parallel_for(size, 1, [&](npy_intp begin, npy_intp end) { sum += end - begin; });
  return sum == size && !in_parallel();
}

// In the body a loop is a plain loop, in the thread that it is in.
int nest(long size) {
  std::atomic<long> sum = 0;
  std::atomic<bool> wrong = false;
  parallel_for(size, 1, [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) {
      const auto here = std::this_thread::get_id();
      parallel_for(100, 1, [&](npy_intp from, npy_intp to) {
        if (std::this_thread::get_id() != here || from != 0 || to != 100) wrong = true;
        sum += to - from;
      });
    }
  });
  return !wrong && sum == 100 * size;
}
}
"""


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """The pool alone, with some loops on it."""
    library = loaded(tmp_path_factory.mktemp("threads"), PROGRAM, "parallel.cpp")
    library.visit.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_int]
    yield library
    library.set_threads(1)


def visit(loops: ctypes.CDLL, size: int, grain: int, microseconds: int = 0) -> int:
    visits = np.zeros(size, np.int32)
    found: int = loops.visit(size, grain, visits.ctypes.data, microseconds)
    assert np.all(visits == 1)
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_each_element_is_visited_once(loops: ctypes.CDLL, count: int) -> None:
    loops.set_threads(count)
    for size in (0, 1, 2, 63, 64, 65, 1000):
        for grain in (-1, 0, 1, 7, 64, 5000):
            assert 0 <= visit(loops, size, grain) <= count


def test_several_threads_work_and_few_elements_get_one(loops: ctypes.CDLL) -> None:
    loops.set_threads(4)
    # Whether the others come to it before all is done is up to the machine.
    assert any(visit(loops, 64, 1, microseconds=2000) > 1 for _ in range(100))
    assert visit(loops, 64, 64, microseconds=2000) == 1
    loops.set_threads(1)
    assert visit(loops, 64, 1, microseconds=100) == 1


def test_exceptions_come_out(loops: ctypes.CDLL) -> None:
    loops.set_threads(3)
    for size in (2, 100, 1000):
        message = ctypes.create_string_buffer(100)
        assert loops.fail(size, message)
        assert message.value == b"from the body"


def test_a_loop_in_a_loop(loops: ctypes.CDLL) -> None:
    loops.set_threads(3)
    assert loops.nest(50)


def test_many_python_threads_at_once(loops: ctypes.CDLL) -> None:
    loops.set_threads(4)
    done: list[int] = []

    def work(seed: int) -> None:
        for size in np.random.default_rng(seed).integers(1, 3000, 60):
            visit(loops, int(size), 5)
        done.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(done) == list(range(12))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own(loops: ctypes.CDLL) -> None:
    program = f"""
import ctypes, os
import numpy as np
loops = ctypes.CDLL({loops._name!r})
loops.visit.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_int]
loops.set_threads(4)
def several_threads():
    for _ in range(100):
        visits = np.zeros(64, np.int32)
        found = loops.visit(64, 1, visits.ctypes.data, 2000)
        assert np.all(visits == 1)
        if found > 1:
            return True
    return False
assert several_threads()
child = os.fork()
good = several_threads()
if child == 0:
    grandchild = os.fork()
    good = good and several_threads()
    if grandchild:
        good = good and os.waitpid(grandchild, 0)[1] == 0
    os._exit(0 if good else 1)
assert good and os.waitpid(child, 0)[1] == 0
print("both")
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    assert finished.stdout == "both\n"


def test_the_process_ends_while_loops_run(loops: ctypes.CDLL) -> None:
    program = f"""
import ctypes, threading, time
import numpy as np
loops = ctypes.CDLL({loops._name!r})
loops.visit.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_int]
loops.set_threads(3)
visits = np.zeros(10**6, np.int32)
def work():
    while True:
        loops.visit(10**6, 1000, visits.ctypes.data, 50)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
while not visits.any():
    time.sleep(0.01)
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")


# -- gradwright.set_num_threads


@pytest.fixture
def restored() -> Iterator[None]:
    before = gradwright.get_num_threads()
    yield
    gradwright.set_num_threads(before)


@pytest.mark.usefixtures("restored")
def test_the_number_is_kept() -> None:
    for count in (5, np.int64(2), 1):
        gradwright.set_num_threads(count)  # type: ignore[arg-type]
        assert gradwright.get_num_threads() == count
        assert type(gradwright.get_num_threads()) is int


WRONG = [0, -1, 2.0, True, "a", None, 2**40, -(2**40), np.float32(2)]


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("count", WRONG, ids=repr)
def test_what_is_no_number_of_threads(count: object) -> None:
    before = gradwright.get_num_threads()
    with pytest.raises((RuntimeError, ValueError)):
        gradwright.set_num_threads(count)  # type: ignore[arg-type]
    assert gradwright.get_num_threads() == before


def test_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.default_threads() == processors
    for setting in ("1", " 1,2"):
        monkeypatch.setenv("OMP_NUM_THREADS", setting)
        assert threads.default_threads() == 1
    for setting in ("", "0", "-1", "many", "100000"):
        monkeypatch.setenv("OMP_NUM_THREADS", setting)
        assert threads.default_threads() == processors
