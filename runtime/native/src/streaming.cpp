#include "streaming.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace gradwright {

namespace {

// The last cache of the first processor, in bytes; 0 where the system does not tell. sysconf() gives the sum over all
// caches of some machines.
npy_intp last_cache() {
  npy_intp size = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    npy_intp kibibytes = 0;
    char unit = 0;
    if (!(file >> kibibytes >> unit)) break;
    if (unit == 'K') size = std::max(size, kibibytes * 1024);
  }
  return size;
}

// Whether lines that go around the caches are written as quickly as others are. AMD's processors keep their pace; with
// Intel's a line holds its buffer until it is in memory, and a loop on one core takes up to twice as long.
bool writes_around_quickly() {
#ifdef GRADWRIGHT_X86
  __builtin_cpu_init();
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

}  // namespace

npy_intp streaming_size() {
  static const npy_intp cache = writes_around_quickly() ? last_cache() / 4 * 3 : 0;  // the rest holds what others use
  return cache > 0 ? cache : std::numeric_limits<npy_intp>::max();
}

}  // namespace gradwright
