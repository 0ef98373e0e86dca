// A disk that fails when a simulation says so. This program replaces the functions of the C library
// that create, write, flush, rename, remove and map files. Without a Disk they do what they always
// do, except that nothing waits for the hardware: fsync() returns at once.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tests/simulation/random.h"

namespace reprise::simulation {

// While the disk is armed, one in `one_in` of these operations fails with ENOSPC or EIO: write,
// fsync, rename, ftruncate and open with O_EXCL, and mmap of a file with ENOMEM. A write that fails
// writes nothing, or only a part; after a part, the next operation fails too. If a failure cuts,
// the process is dead from then on: all these operations and unlink fail until the end of the Disk.
//
// Files get their times from a counter, because stores sort by them. Only one Disk may exist at a
// time, and only one thread may use files.
class Disk {
 public:
  explicit Disk(uint64_t seed);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk();

  // From now on one in `one_in` operations fails; 0: none. With `cuts`, the process is dead from
  // the first failure on.
  void arm(int32_t one_in, bool cuts = false);
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] int64_t failures() const { return failures_; }

  // For the replaced functions. Draws whether an operation fails.
  bool fails();
  // How many of `count` bytes a write brings to the disk; 0: the write fails.
  size_t let_through(size_t count);
  int error();

 private:
  Random random_;
  int32_t one_in_ = 0;
  bool cuts_ = false, is_cut_ = false, fails_next_ = false;
  int64_t failures_ = 0;
};

// Flips a bit of a file, or cuts its end off, as a bad sector or a lost write does. Returns false
// if `folder` and its subfolders hold no file whose name ends in `extension`.
bool damage_a_file(const std::filesystem::path& folder, const char* extension, Random& random);

}  // namespace reprise::simulation
