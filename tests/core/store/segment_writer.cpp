// Writes to a segment store until it is killed, or once as if the disk were full:
//
//   segment_writer loop DIR SEED [BUDGET]      puts random segments of segment_writer.h
//   segment_writer full DIR BYTES              puts one segment, while files are limited to BYTES
#include "tests/core/store/segment_writer.h"

#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace reprise;
using namespace reprise::kv;

[[noreturn]] void write_on(const char* folder, uint64_t seed, int64_t budget) {
  SegmentStore plain({.directory = folder, .disk_bytes = budget});
  SegmentStore packed({.directory = folder, .disk_bytes = budget, .form = SegmentForm::kInt8});
  for (uint64_t i = 0;; ++i) {
    const uint64_t word = random_bits(seed, 0, i), index = word % kWriterKeys;
    SegmentStore& store = writer_form(index) == SegmentForm::kInt8 ? packed : plain;
    store.put(writer_key(index), writer_segment(index, word / kWriterKeys % 5));
  }
}

// Returns 0 if the put is refused and the store goes on with its earlier content.
int write_to_full_disk(const char* folder, rlim_t bytes) {
  SegmentStore store({.host_bytes = 1 << 20, .directory = folder});
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  const SegmentStoreStats before = store.stats();
  try {
    store.put(writer_key(0), writer_segment(0, 1));
    return 4;
  } catch (const Error& error) {
    if (std::strstr(error.what(), folder) == nullptr) return 5;
  }
  const SegmentStoreStats after = store.stats();
  if (after.disk_bytes != before.disk_bytes || after.host_bytes != before.host_bytes) return 6;
  for (uint64_t index = 0; index < 4; index += 2) {
    const auto handle = store.acquire(writer_key(index));
    if (!handle || !is_writers(*handle, index)) return 7;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc >= 4 && std::strcmp(argv[1], "loop") == 0)
      write_on(argv[2], std::strtoull(argv[3], nullptr, 10),
               argc > 4 ? std::strtoll(argv[4], nullptr, 10) : 0);
    if (argc == 4 && std::strcmp(argv[1], "full") == 0)
      return write_to_full_disk(argv[2], std::strtoull(argv[3], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "segment_writer: %s\n", error.what());
    return 1;
  }
  return 2;
}
