// The pool of threads.

#include "parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace gradwright {

namespace detail {
std::atomic<int> thread_count{1};
}  // namespace detail

namespace {

thread_local bool within = false;

// What the system tells the process is for the threads of Python: a worker takes no signals but those of its own faults.
class WithoutSignals {
#if !defined(_WIN32)
 public:
  WithoutSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
#endif
};

// One loop, on the stack of the thread that called it.
struct Job {
  const npy_intp size, step;  // each claim takes `step` elements
  const detail::Part part;
  void* const body;
  int wanted;       // helpers that may still join
  int helpers = 0;  // those at work
  std::atomic<npy_intp> next = 0;
  std::exception_ptr error = nullptr;
  std::condition_variable left;

  bool open() const { return wanted > 0 && next.load(std::memory_order_relaxed) < size; }

  // Works until nothing is left to claim.
  void work(std::mutex& mutex) noexcept {
    const bool outer = std::exchange(within, true);
    for (;;) {
      const npy_intp begin = next.fetch_add(step, std::memory_order_relaxed);
      if (begin >= size) break;
      try {
        part(body, begin, std::min(begin + step, size));
      } catch (...) {
        next.store(size, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (error == nullptr) error = std::current_exception();
      }
    }
    within = outer;
  }
};

class Pool {
 public:
  void run(Job& job) {
    const int helpers = job.wanted;
    std::unique_lock lock(mutex_);
    grow(static_cast<size_t>(helpers));
    const auto place = jobs_.insert(jobs_.end(), &job);
    lock.unlock();
    for (int i = 0; i < helpers; ++i) wake_.notify_one();
    job.work(mutex_);
    lock.lock();
    jobs_.erase(place);
    job.left.wait(lock, [&] { return job.helpers == 0; });
  }

  // Ends the workers. Loops go on without them.
  void stop() {
    std::vector<std::thread> workers;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      workers.swap(workers_);
    }
    wake_.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

 private:
  void grow(size_t count) {
    if (workers_.size() >= count) return;
    const WithoutSignals without_signals;
    while (!stopped_ && workers_.size() < count) {
      try {
        workers_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {
        return;  // the system gives no more threads: those at hand do the work
      }
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      wake_.wait(lock, [&] {
        job = open_job();
        return stopped_ || job != nullptr;
      });
      if (stopped_) return;
      --job->wanted;
      ++job->helpers;
      lock.unlock();
      job->work(mutex_);
      lock.lock();
      if (--job->helpers == 0) job->left.notify_one();
    }
  }

  Job* open_job() {
    for (Job* job : jobs_) {
      if (job->open()) return job;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Job*> jobs_;
  std::vector<std::thread> workers_;
  bool stopped_ = false;
};

// Never freed: at the end of the process a thread of Python's may still be in a loop.
std::atomic<Pool*> pool = nullptr;

// A forked child has none of the threads, and locks in whatever state they were: it starts over.
void forget_pool() { pool.store(nullptr); }

Pool& get_pool() {
#if !defined(_WIN32)
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
  (void)registered;
#endif
  Pool* known = pool.load();
  if (known != nullptr) return *known;
  auto* made = new Pool;
  if (pool.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

// At the end of the process workers are sent home, so that none is cut off in the middle.
struct Finish {
  ~Finish() {
    if (Pool* known = pool.load()) known->stop();
  }
} finish;

}  // namespace

void set_num_threads(int count) { detail::thread_count.store(std::max(count, 1)); }

bool in_parallel() { return within; }

void detail::run_in_parts(npy_intp size, npy_intp grain, Part part, void* body) {
  const npy_intp threads = num_threads();
  const npy_intp grains = (size + grain - 1) / grain;
  // Several parts for each thread even out what other programs take away.
  const npy_intp step = grain * std::max<npy_intp>(1, grains / (threads * 4));
  const npy_intp parts = (size + step - 1) / step;
  Job job{size, step, part, body, static_cast<int>(std::min(threads, parts)) - 1};
  get_pool().run(job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace gradwright
