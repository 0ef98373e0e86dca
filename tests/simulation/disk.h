// A disk that fails when a simulation says so. The functions of the C library that create, write,
// flush, rename and map files are replaced in this program; without an armed Disk they do what they
// always do, except that nothing waits for the hardware: fsync() returns at once.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tests/simulation/random.h"

namespace reprise::simulation {

// While a Disk is armed, one in `one_in` of its file operations fails:
//   write      returns ENOSPC or EIO, or writes a part and says so; the next write then fails
//   fsync      returns EIO
//   rename     returns ENOSPC or EIO
//   ftruncate  returns EIO
//   mkostemps  returns EMFILE or ENOSPC
//   mmap       of a file returns ENOMEM
// After cut(), as after the process was killed, all of them fail until the end of the Disk: nothing
// reaches the disk any more. Only one Disk exists at a time; files are used by one thread at a
// time.
class Disk {
 public:
  explicit Disk(uint64_t seed);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk();

  // One in `one_in` operations fails from now on; 0: none. With `cuts`, a failing write leaves a
  // part of its bytes behind and is the process's last: cut().
  void arm(int32_t one_in, bool cuts = false);
  void cut() { is_cut_ = true; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] int64_t failures() const { return failures_; }

  // For the replaced functions.
  bool fails();
  // The bytes of a write that reach the disk, of `count`.
  size_t part_of(size_t count);
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
