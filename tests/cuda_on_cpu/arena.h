// The device's memory: pages that the host cannot access except in a kernel or a copy.
#pragma once

#include <cstddef>

namespace cuda_on_cpu {

// Addresses are never used twice. Pages that are dropped lose their contents.
class Arena {
 public:
  static Arena& all();

  // Returns memory aligned to 256 bytes, or null if the address range is used up.
  void* take(size_t bytes);
  void drop(void* data, size_t bytes);

  // Makes the memory accessible, until close() has been called as often as open(). A host access to
  // closed memory ends the program with a message.
  void open();
  void close();

 private:
  Arena();
  char* begin_ = nullptr;
  char* next_ = nullptr;
  int opened_ = 0;
};

// Keeps the memory open while this lives.
class OpenMemory {
 public:
  OpenMemory() { Arena::all().open(); }
  ~OpenMemory() { Arena::all().close(); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

}  // namespace cuda_on_cpu
