// A map from addresses of Python objects to what the engine knows about them.

#pragma once

#include "core.hpp"

#include <cstddef>
#include <vector>

namespace gradwright {

// Open addressing. The keys are borrowed: whoever fills the map sees to it that they live. Removing leaves a gap that is
// not used again until the map is made anew, when it is half full. What `find` and `insert` give holds until the next
// `insert`.
template <class Value>
class AddressMap {
 public:
  struct Entry {
    PyObject* key = nullptr;
    Value value{};
  };

  AddressMap() { entries_.resize(kLeast); }
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  Entry* find(PyObject* key) {
    for (size_t i = slot(key);; i = (i + 1) & (entries_.size() - 1)) {
      if (entries_[i].key == key) return &entries_[i];
      if (entries_[i].key == nullptr) return nullptr;
    }
  }
  // A key that is not there yet.
  Entry* insert(PyObject* key) {
    if (2 * ++used_ > entries_.size()) grow();
    Entry& entry = place(key);
    entry.key = key;
    return &entry;
  }
  static void remove(Entry* entry) {
    entry->key = gap();
    entry->value = Value{};
  }
  template <class F>
  void each(F&& visit) {
    for (Entry& entry : entries_) {
      if (entry.key != nullptr && entry.key != gap()) visit(entry);
    }
  }
  void clear() {
    entries_.assign(kLeast, Entry());
    used_ = 0;
  }

 private:
  static constexpr size_t kLeast = 64;

  static PyObject* gap() { return reinterpret_cast<PyObject*>(&gap_mark); }
  size_t slot(PyObject* key) const {
    const auto bits = reinterpret_cast<uintptr_t>(key) >> 4;
    return (bits * 0x9E3779B97F4A7C15ull >> 20) & (entries_.size() - 1);
  }
  Entry& place(PyObject* key) {
    size_t i = slot(key);
    while (entries_[i].key != nullptr) i = (i + 1) & (entries_.size() - 1);
    return entries_[i];
  }
  void grow() {
    std::vector<Entry> old(std::move(entries_));
    size_t live = 0;
    for (const Entry& entry : old) live += entry.key != nullptr && entry.key != gap();
    size_t size = kLeast;
    while (size < 3 * (live + 1)) size *= 2;
    entries_.assign(size, Entry());
    used_ = live + 1;
    for (const Entry& entry : old) {
      if (entry.key != nullptr && entry.key != gap()) place(entry.key) = entry;
    }
  }

  static inline char gap_mark = 0;
  std::vector<Entry> entries_;
  size_t used_ = 0;
};

}  // namespace gradwright
