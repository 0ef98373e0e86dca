#include "core/store/segment_file.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <limits>
#include <thread>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"
#include "tests/support/json.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

std::string refusal(const fs::path& path, Verify verify = Verify::kAll) {
  try {
    const SegmentFile file(path, verify);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

SegmentKey some_key() {
  return {{.model = "model \xff", .tokenizer = "tokenizer", .schema = "schema", .dtype = "bf16"},
          std::string("module\0\n", 8)};
}

TEST(SegmentFile, ReadsWhatWasWritten) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SegmentShape shape = kSmallSegment;
    shape.dtype = dtype;
    SegmentBuffer segment = segment_of(1, shape);
    segment.note = std::string("any bytes: \0\xff", 13);
    write_segment(path, some_key(), segment, {.cost_s = 0.1});
    EXPECT_EQ(static_cast<int64_t>(fs::file_size(path)),
              segment_file_bytes(some_key(), segment, {.cost_s = 0.1}));
    const SegmentFile file(path, Verify::kAll);
    EXPECT_EQ(file.header().key, some_key());
    EXPECT_EQ(file.header().note, segment.note);
    EXPECT_EQ(file.header().shape, shape);
    EXPECT_EQ(file.header().form, SegmentForm::kPlain);
    EXPECT_EQ(file.header().cost_s, 0.1);
    EXPECT_GT(file.header().created_s, 1'700'000'000);
    EXPECT_TRUE(holds(file.view(), 1, shape));
    EXPECT_TRUE(holds(file.read().view(), 1, shape));
  }
}

TEST(SegmentFile, LaysLayersOnPagesAndStatesOnCacheLines) {
  const model::TempDir folder;
  write_segment(folder.path() / "a", "key", segment_of(1));
  const SegmentFile file(folder.path() / "a", Verify::kHeader);
  const CacheView view = file.view();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.keys) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.values) % 64, 0u);
  EXPECT_EQ(view.layer_stride * static_cast<int64_t>(sizeof(float)) % 4096, 0);
  EXPECT_LT(static_cast<const char*>(view.values) - static_cast<const char*>(view.keys), 4096)
      << "a layer's values follow its keys";
}

TEST(SegmentFile, OddTokenCountsKeepTheirPlaces) {
  const model::TempDir folder;
  for (const int64_t tokens : {1, 3, 17, 63, 65, 127})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const SegmentShape shape = {
          .layers = 3, .kv_heads = 1, .tokens = tokens, .head_dim = 5, .dtype = dtype};
      write_segment(folder.path() / "a", "key", segment_of(2, shape));
      EXPECT_TRUE(holds(SegmentFile(folder.path() / "a", Verify::kAll).view(), 2, shape));
      const SegmentBuffer states = finite_segment_of(3, shape);
      write_segment(folder.path() / "a", "key", states, {.form = SegmentForm::kInt8});
      EXPECT_TRUE(equals(SegmentFile(folder.path() / "a", Verify::kAll).read().view(),
                         in_eight_bits(states)))
          << tokens << " tokens";
    }
}

// A file with one byte changed is refused or, if the byte is padding, read as it was written. Other
// states are never read.
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
    EXPECT_EQ(file.header().key, SegmentKey("key"));
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(padding, 0);
}

// Damage in one layer is found when that layer is checked, and the other layers can be used.
TEST(SegmentFile, ALayerIsCheckedByItself) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  SegmentShape shape = kSmallSegment;
  shape.layers = 5;
  for (const SegmentForm form : {SegmentForm::kPlain, SegmentForm::kInt8}) {
    write_segment(path, "key", finite_segment_of(1, shape), {.form = form});
    const std::string sound = content_of(path);
    for (int64_t bad = 0; bad < shape.layers; ++bad) {
      // Layers begin at multiples of 4096 bytes, behind the header.
      const size_t begin = sound.size() / 4096 * 4096 - static_cast<size_t>(4 - bad) * 4096;
      std::string damaged = sound;
      damaged[begin] = static_cast<char>(damaged[begin] ^ 4);
      write_content(path, damaged);
      const SegmentFile file(path, Verify::kHeader);
      for (int repeat = 0; repeat < 2; ++repeat)
        for (int64_t layer = 0; layer < shape.layers; ++layer) {
          if (layer != bad) {
            EXPECT_NO_THROW(file.check_layer(layer)) << layer;
            continue;
          }
          try {
            file.check_layer(layer);
            ADD_FAILURE() << "layer " << layer << " is damaged";
          } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(fmt::format("layer {}", layer)),
                      std::string::npos);
            EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
          }
        }
      EXPECT_THROW((void)file.read(), Error) << "a copy is checked";
      EXPECT_NE(refusal(path), "");
    }
  }
}

TEST(SegmentFile, ThreadsMayCheckTheSameLayers) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  write_segment(path, "key", segment_of(1));
  const SegmentFile file(path, Verify::kHeader);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { file.check_all(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(holds(file.view(), 1));
}

TEST(SegmentFile, IsRefusedWhereItIsCutOff) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  for (const SegmentForm form : {SegmentForm::kPlain, SegmentForm::kInt8}) {
    write_segment(path, "key", finite_segment_of(1), {.form = form});
    const std::string sound = content_of(path);
    for (size_t bytes = 0; bytes < sound.size(); bytes += 101) {
      write_content(path, sound.substr(0, bytes));
      EXPECT_NE(refusal(path, Verify::kHeader), "") << bytes << " bytes";
    }
    write_content(path, sound + "x");
    EXPECT_NE(refusal(path, Verify::kHeader), "");
  }
}

TEST(SegmentFile, EightBitsTakeHalfTheRoom) {
  const SegmentShape shape = {
      .layers = 2, .kv_heads = 4, .tokens = 256, .head_dim = 64, .dtype = DType::kBF16};
  const SegmentBuffer segment = finite_segment_of(1, shape);
  const int64_t plain = segment_file_bytes("key", segment);
  const int64_t packed = segment_file_bytes("key", segment, {.form = SegmentForm::kInt8});
  EXPECT_GT(packed, plain / 2);
  EXPECT_LT(packed, plain * 0.53);
}

TEST(SegmentFile, EightBitsRefuseWhatTheyCannotHold) {
  const model::TempDir folder;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    SegmentBuffer segment = finite_segment_of(1);
    const int64_t head_elements = kSmallSegment.tokens * kSmallSegment.head_dim;
    segment.values.as<float>()[(kSmallSegment.kv_heads + 2) * head_elements + 3] = bad;
    try {
      write_segment(folder.path() / "a", "key", segment, {.form = SegmentForm::kInt8});
      FAIL() << bad;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("values of layer 1, head 2"), std::string::npos) << text;
      EXPECT_NE(text.find("plain"), std::string::npos) << text;
    }
    EXPECT_FALSE(fs::exists(folder.path() / "a"));
    write_segment(folder.path() / "a", "key", segment);
    EXPECT_TRUE(equals(SegmentFile(folder.path() / "a", Verify::kAll).view(), segment));
    fs::remove(folder.path() / "a");
  }
}

// ---- The first format, which is written here by its definition. ----

std::string words(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (const uint64_t value : values)
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

uint64_t xxh3(const std::string& bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string on_pages(std::string bytes) {
  bytes.resize((bytes.size() + 4095) / 4096 * 4096, '\0');
  return bytes;
}

std::string file_of_format_1(const std::string& key, const SegmentBuffer& segment) {
  const std::string keys(segment.keys.as<char>(), segment.shape.half_bytes());
  const std::string values(segment.values.as<char>(), segment.shape.half_bytes());
  const Json header = {{"key", std::vector<int>(key.begin(), key.end())},
                       {"note", std::vector<int>(segment.note.begin(), segment.note.end())},
                       {"layers", segment.shape.layers},
                       {"kv_heads", segment.shape.kv_heads},
                       {"tokens", segment.shape.tokens},
                       {"head_dim", segment.shape.head_dim},
                       {"dtype", std::string(name_of(segment.shape.dtype))},
                       {"keys_hash", fmt::format("{:016x}", xxh3(keys))},
                       {"values_hash", fmt::format("{:016x}", xxh3(values))}};
  const std::string text = header.dump(), magic = "RPRSEG1\n";
  const std::string beginning =
      magic + words({text.size(), xxh3(magic + words({text.size()}) + text)}) + text;
  return on_pages(beginning) + on_pages(keys) + values;
}

TEST(SegmentFile, OfTheFirstFormatStillLoads) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  const std::string content = file_of_format_1("old key", segment_of(4));
  write_content(path, content);
  const SegmentFile file(path, Verify::kAll);
  EXPECT_EQ(file.header().format, 1);
  EXPECT_EQ(file.header().key, SegmentKey("old key"));
  EXPECT_EQ(file.header().note, "note 4");
  EXPECT_TRUE(holds(file.view(), 4));
  EXPECT_TRUE(holds(file.read().view(), 4));
  for (size_t byte = 4096; byte < content.size(); byte += 7) {
    std::string damaged = content;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x20);
    write_content(path, damaged);
    const SegmentFile lazy(path, Verify::kHeader);
    try {
      lazy.check_layer(1);
      EXPECT_EQ(content[byte], '\0') << "byte " << byte;
      EXPECT_TRUE(holds(lazy.view(), 4));
    } catch (const Error&) {
      EXPECT_THROW(lazy.check_layer(0), Error) << "one answer for all layers";
    }
  }
}

TEST(SegmentFile, OfANewerFormatIsNamedAsSuch) {
  const model::TempDir folder;
  const fs::path path = folder.path() / "a";
  write_segment(path, "key", segment_of(1));
  std::string content = content_of(path);
  content[6] = '3';
  write_content(path, content);
  EXPECT_THROW(SegmentFile(path, Verify::kHeader), NewerFormatError);
  EXPECT_NE(refusal(path).find("format 3"), std::string::npos);
}

TEST(SegmentFile, NamesWhatIsMissing) {
  EXPECT_NE(refusal("/no/such/file").find("/no/such/file"), std::string::npos);
}

TEST(SegmentForm, IsChosenByName) {
  EXPECT_EQ(parse_segment_form("plain"), SegmentForm::kPlain);
  EXPECT_EQ(parse_segment_form("int8"), SegmentForm::kInt8);
  try {
    (void)parse_segment_form("int9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"int8\""), std::string::npos);
  }
}

}  // namespace
}  // namespace reprise::kv
