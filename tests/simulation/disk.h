// A disk that fails when a simulation says so. The functions of the C library that create, write,
// flush, rename, remove and map files are replaced in this program; without a Disk they do what
// they always do, except that nothing waits for the hardware: fsync() returns at once.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tests/simulation/random.h"

namespace reprise::simulation {

// While it is armed, one in `one_in` of these operations fails, with ENOSPC or EIO: write (of
// nothing, or of all but a part, after which the next operation fails), fsync, rename, ftruncate,
// mkostemps, and mmap of a file (ENOMEM). If a failure cuts, the process is dead from then on: all
// of them and unlink fail until the end of the Disk. Files get their times from a counter, because
// stores sort by them. Only one Disk exists at a time, and one thread uses files.
class Disk {
 public:
  explicit Disk(uint64_t seed);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk();

  // One in `one_in` operations fails from now on; 0: none. With `cuts`, the first that fails is the
  // process's last.
  void arm(int32_t one_in, bool cuts = false);
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] int64_t failures() const { return failures_; }

  // For the replaced functions. True if an operation fails.
  bool fails();
  // The bytes of a write of `count` that reach the disk; 0: it fails.
  size_t let_through(size_t count);
  int error();

 private:
  Random random_;
  int32_t one_in_ = 0;
  bool cuts_ = false, is_cut_ = false, fails_next_ = false;
  int64_t failures_ = 0;
};

// Flips a bit of a file, or cuts its end off, as a bad sector or a lost write does. Returns false
// if the folder and those below it hold no file whose name ends in `extension`.
bool damage_a_file(const std::filesystem::path& folder, const char* extension, Random& random);

}  // namespace reprise::simulation
