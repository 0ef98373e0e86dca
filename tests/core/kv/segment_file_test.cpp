#include "core/kv/segment_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "tests/core/kv/segment_testing.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_content(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::string refusal(const fs::path& path, Verify verify = Verify::kAll) {
  try {
    const SegmentFile file(path, verify);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SegmentFile, ReadsWhatWasWritten) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SegmentShape shape = kSmallSegment;
    shape.dtype = dtype;
    SegmentBuffer segment = segment_of(1, shape);
    segment.note = std::string("any bytes: \0\xff", 13);
    write_segment(path, "key \xfe", segment);
    EXPECT_EQ(static_cast<int64_t>(fs::file_size(path)), segment_file_bytes("key \xfe", segment));
    const SegmentFile file(path, Verify::kAll);
    EXPECT_EQ(file.header().key, "key \xfe");
    EXPECT_EQ(file.header().note, segment.note);
    EXPECT_EQ(file.header().shape, shape);
    EXPECT_TRUE(holds(file.view(), 1, shape));
    EXPECT_TRUE(holds(file.read().view(), 1, shape));
  }
}

TEST(SegmentFile, LaysKeysAndValuesOnPages) {
  const model::TempDir folder;
  write_segment(folder.path() / "a", "key", segment_of(1));
  const SegmentFile file(folder.path() / "a", Verify::kHeader);
  EXPECT_EQ(file.header().keys_begin % 4096, 0u);
  EXPECT_EQ(file.header().values_begin % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.view().keys) % 64, 0u);
}

// A file with one byte changed is refused, or reads what was written (where padding was hit):
// never other states.
TEST(SegmentFile, NoFlippedByteGoesUnnoticed) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  write_segment(path, "key", segment_of(1));
  const std::string sound = content_of(path);
  int refused = 0, padding = 0;
  for (size_t byte = 0; byte < sound.size(); byte += byte < 600 ? 1 : 9) {
    std::string damaged = sound;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
    write_content(path, damaged);
    const std::string fault = refusal(path);
    if (!fault.empty()) {
      EXPECT_NE(fault.find(path.string()), std::string::npos) << fault;
      ++refused;
      continue;
    }
    ++padding;
    EXPECT_EQ(sound[byte], '\0') << "byte " << byte;
    const SegmentFile file(path, Verify::kAll);
    EXPECT_TRUE(holds(file.view(), 1)) << "byte " << byte;
    EXPECT_EQ(file.header().key, "key");
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(padding, 0);
}

TEST(SegmentFile, IsRefusedWhereItIsCutOff) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  write_segment(path, "key", segment_of(1));
  const std::string sound = content_of(path);
  for (size_t bytes = 0; bytes < sound.size(); bytes += 101) {
    write_content(path, sound.substr(0, bytes));
    EXPECT_NE(refusal(path, Verify::kHeader), "") << bytes << " bytes";
  }
  write_content(path, sound + "x");
  EXPECT_NE(refusal(path, Verify::kHeader), "");
}

TEST(SegmentFile, NamesWhatIsMissing) {
  EXPECT_NE(refusal("/no/such/file").find("/no/such/file"), std::string::npos);
}

}  // namespace
}  // namespace reprise::kv
