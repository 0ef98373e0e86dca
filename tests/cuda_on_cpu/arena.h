// Where the device's memory is: pages that the host cannot touch but in a kernel or a copy.
#pragma once

#include <cstddef>

namespace cuda_on_cpu {

// Addresses are never used twice; pages that were dropped hold nothing.
class Arena {
 public:
  static Arena& all();

  // Aligned to 256 bytes; null where the addresses are used up.
  void* take(size_t bytes);
  void drop(void* data, size_t bytes);

  // Until closed as often as opened the memory can be read and written. Host code that touches it
  // in between ends the program, and says so.
  void open();
  void close();

 private:
  Arena();
  char* begin_ = nullptr;
  char* next_ = nullptr;
  int opened_ = 0;
};

// For the life of one the memory is open.
class OpenMemory {
 public:
  OpenMemory() { Arena::all().open(); }
  ~OpenMemory() { Arena::all().close(); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

}  // namespace cuda_on_cpu
