// A safetensors file is read as it was written, and each way in which it can be malformed has an
// error.
#include "core/model/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/device/memory.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::model {
namespace {

std::vector<float> read_all(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry& entry = file.entries().at(name);
  std::vector<float> values(static_cast<size_t>(entry.elements));
  file.read(entry, 0, entry.elements, DType::kF32, values.data());
  return values;
}

TEST(Safetensors, ReadsWhatWasWrittenAtAnyAlignment) {
  const TempDir dir;
  const std::vector<TestTensor> tensors = {{"a", {3, 5}}, {"b", {}}, {"c", {0, 4}}, {"d", {2000}}};
  for (size_t pad = 0; pad < 8; ++pad) {
    const SafetensorsFile file(dir.write("f.safetensors", safetensors_of(tensors, pad)));
    ASSERT_EQ(file.entries().size(), 4u);
    EXPECT_EQ(file.entries().at("a").shape_text(), "[3, 5]");
    EXPECT_EQ(file.entries().at("b").elements, 1);
    EXPECT_EQ(file.entries().at("c").elements, 0);
    const std::vector<float> values = read_all(file, "d");
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], 0.5f + static_cast<float>(i) / 64.0f) << "pad " << pad;
    std::vector<bf16> rounded(1500);
    file.read(file.entries().at("d"), 500, 1500, DType::kBF16, rounded.data());
    for (size_t i = 0; i < rounded.size(); ++i)
      ASSERT_EQ(rounded[i].bits, bf16(values[500 + i]).bits) << "pad " << pad;
    file.release(file.entries().at("d"));
    EXPECT_EQ(read_all(file, "d"), values);
  }
}

TEST(Safetensors, UnreadableDtypesAreListed) {
  const TempDir dir;
  const SafetensorsFile file(
      dir.write("f.safetensors", safetensors_of({{"a", {3}, "I64"}, {"b", {2}}})));
  EXPECT_FALSE(file.entries().at("a").dtype.has_value());
  EXPECT_EQ(file.entries().at("a").dtype_name, "I64");
  EXPECT_EQ(read_all(file, "b"), (std::vector<float>{0.5f, 0.515625f}));
}

TEST(Safetensors, AFileWithoutTensorsIsEmpty) {
  const TempDir dir;
  EXPECT_TRUE(
      SafetensorsFile(dir.write("f.safetensors", safetensors_bytes("{}", ""))).entries().empty());
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const TempDir dir;
  const std::string whole = safetensors_of({{"a", {3, 2}}, {"b", {4}}});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes)
    expect_error([&] { SafetensorsFile(dir.write("f.safetensors", whole.substr(0, bytes))); },
                 {"f.safetensors"});
  expect_error([&] { SafetensorsFile(dir.write("f.safetensors", whole + "x")); },
               {"f.safetensors", "bytes of data"});
}

TEST(Safetensors, MalformedHeadersAreNamed) {
  struct Case {
    std::string header;
    std::vector<std::string> parts;
  };
  const std::string data(16, 'x');  // room for [4] F32
  const std::vector<Case> cases = {
      {R"([1])", {"begin with"}},
      {R"( {"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", {"begin with"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]})", {"not valid JSON"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{}})", {"twice"}},
      {R"({"a":3})", {"\"a\"", "needs"}},
      {R"({"a":{"dtype":"F32","shape":[4]}})", {"\"a\"", "data_offsets"}},
      {R"({"a":{"dtype":3,"shape":[4],"data_offsets":[0,16]}})", {"\"a\"", "dtype"}},
      {R"({"a":{"dtype":"Q4","shape":[4],"data_offsets":[0,16]}})", {"\"a\"", "Q4", "BF16"}},
      {R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,16]}})", {"\"a\"", "shape"}},
      {R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", {"\"a\"", "-4"}},
      {R"({"a":{"dtype":"F32","shape":[4.5],"data_offsets":[0,16]}})", {"\"a\"", "4.5"}},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,16]}})",
       {"\"a\"", "too large"}},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]}})",
       {"\"a\"", "64 bits"}},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,16]}})",
       {"\"a\"", "16 bytes"}},
      {R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})", {"\"a\"", "[5]", "16 bytes"}},
      {R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,16]}})", {"\"a\"", "F4"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0]}})", {"\"a\"", "[begin, end]"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[-1,16]}})", {"\"a\"", "-1"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})", {"\"a\"", "[16, 0)"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})", {"\"a\"", "[8, 24)"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[18446744073709551600,18446744073709551615]}})",
       {"\"a\"", "not inside"}},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", {"16 bytes of data", "8"}},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", {"\"a\"", "hole"}},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
       {"\"b\"", "overlap"}},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
       {"\"b\"", "overlap"}},
      {R"({"__metadata__":{"a":1},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
       {"__metadata__"}},
      {R"({"__metadata__":"x","a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
       {"__metadata__"}},
  };
  const TempDir dir;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.header);
    const auto path = dir.write("f.safetensors", safetensors_bytes(c.header, data));
    expect_error([&] { SafetensorsFile{path}; }, {"f.safetensors"});
    for (const std::string& part : c.parts) expect_error([&] { SafetensorsFile{path}; }, {part});
  }
}

TEST(Safetensors, ReleasedPagesLeaveTheResidentSet) {
  const TempDir dir;
  constexpr int64_t kElements = int64_t{16} << 20;  // 64 MiB of f32
  const SafetensorsFile file(dir.write("f.safetensors", safetensors_of({{"a", {kElements}}})));
  const SafetensorsEntry& entry = file.entries().at("a");
  std::vector<bf16> values(kElements);
  const int64_t before = resident_bytes();
  file.read(entry, 0, kElements, DType::kBF16, values.data());
  const int64_t mapped = resident_bytes() - before;
  if (mapped < kElements * 2) GTEST_SKIP() << "the system does not count mapped pages: " << mapped;
  file.release(entry);
  EXPECT_LT(resident_bytes() - before, mapped - kElements * 3);
}

TEST(Safetensors, AHeaderLengthBeyondTheLimitIsAnError) {
  const TempDir dir;
  for (const uint64_t length : {uint64_t{100'000'001}, uint64_t{1} << 63, ~uint64_t{0}}) {
    std::string bytes = safetensors_of({{"a", {3}}});
    std::memcpy(bytes.data(), &length, 8);
    expect_error([&] { SafetensorsFile(dir.write("f.safetensors", bytes)); },
                 {"f.safetensors", "more than", std::to_string(length)});
  }
}

TEST(Safetensors, TheHeaderIsGivenAsItStands) {
  const TempDir dir;
  const std::string header = R"({ "w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]} } )";
  const std::string whole = safetensors_bytes(header, std::string(8, 'x'));
  const auto header_of = [&](const std::string& bytes) {
    return safetensors_header_of(dir.write("f.safetensors", bytes));
  };
  EXPECT_EQ(header_of(whole), header);
  EXPECT_EQ(header_of(whole.substr(0, 8 + header.size())), header) << "the data may be missing";
  EXPECT_EQ(header_of(safetensors_bytes("no JSON", "")), "no JSON") << "nobody parses it";
  for (size_t bytes = 0; bytes < 8 + header.size(); ++bytes)
    EXPECT_EQ(header_of(whole.substr(0, bytes)), std::nullopt) << bytes;
  EXPECT_EQ(header_of(std::string(8, '\xff') + header), std::nullopt) << "a length beyond all";
  expect_error([&] { (void)safetensors_header_of(dir.path() / "none"); }, {"none"});
}

TEST(Safetensors, WhatIsNoFileIsAnError) {
  const TempDir dir;
  expect_error([&] { SafetensorsFile(dir.path() / "absent.safetensors"); }, {"absent"});
  expect_error([&] { SafetensorsFile{dir.path()}; }, {"not a regular file"});
  // A pipe, into which nobody ever writes.
  const std::filesystem::path pipe = dir.path() / "pipe.safetensors";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error([&] { SafetensorsFile{pipe}; }, {"not a regular file"});
}

}  // namespace
}  // namespace reprise::model
