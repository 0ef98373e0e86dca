// Reads a segment file after correcting its header's checksum, so that the code behind that check
// is reached.
#include "core/store/segment_file.h"

#include <xxhash.h>

#include <cstring>

#include "tests/fuzz/fuzz.h"

namespace {

constexpr size_t kHash = 16, kText = 24;  // places behind magic and length, and behind the hash

void mend(std::string& file) {
  if (file.size() < kText) return;
  uint64_t text_bytes = 0;
  std::memcpy(&text_bytes, file.data() + 8, sizeof text_bytes);
  const std::string covered =
      file.substr(0, kHash) + file.substr(kText, std::min<uint64_t>(text_bytes, file.size()));
  const uint64_t hash = XXH3_64bits(covered.data(), covered.size());
  std::memcpy(file.data() + kHash, &hash, sizeof hash);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reprise;
  static fuzz::ScratchFile scratch("0.segment");
  std::string bytes(fuzz::text_of(data, size));
  mend(bytes);
  const auto& path = scratch.write(bytes);
  fuzz::expect_read_or_refused(fuzz::text_of(data, size), [&] {
    const kv::SegmentFile file(path, kv::Verify::kHeader);
    for (int64_t layer = 0; layer < file.header().shape.layers; ++layer) file.fetch_layer(layer);
    file.check_all();
    (void)file.read();
  });
  return 0;
}
