// Tests packed files of results: whole, in members, cut at every length, damaged and too large.
#include "results/gzip.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/error.h"
#include "results/results_file.h"
#include "tests/results/packed_file.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

constexpr size_t kMost = size_t{16} << 20;

// A text of random numbers, which gzip cannot compress much.
std::string long_text(size_t bytes) {
  std::string text;
  for (uint32_t x = 1; text.size() < bytes; x = x * 1664525 + 1013904223)
    text += std::to_string(x) + "\n";
  return text;
}

std::string refusal(const std::string& bytes, size_t max_bytes = kMost) {
  try {
    (void)unpacked(bytes, "out/records.jsonl.gz", max_bytes);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Gzip, UnpacksWhatWasPacked) {
  for (const std::string& text : {std::string(), std::string("a\n"), long_text(3 << 20)}) {
    EXPECT_EQ(unpacked(gzip_bytes(text), "a.gz", kMost), text);
    EXPECT_EQ(unpacked(gzip_bytes(text) + gzip_bytes("more"), "a.gz", kMost), text + "more");
  }
}

TEST(Gzip, IsKnownByItsName) {
  EXPECT_TRUE(is_packed("a/records.jsonl.gz"));
  EXPECT_FALSE(is_packed("a.gz/records.jsonl"));
  EXPECT_EQ(unpacked_name("a/records.jsonl.gz"), "a/records.jsonl");
  EXPECT_EQ(unpacked_name("a/records.jsonl"), "a/records.jsonl");
}

TEST(Gzip, EveryCutIsAnErrorThatNamesFileAndRemedy) {
  const std::string bytes = gzip_bytes(long_text(500));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string text = refusal(bytes.substr(0, size));
    EXPECT_NE(text.find("out/records.jsonl.gz is cut short"), std::string::npos) << size << text;
    EXPECT_NE(text.find("Copy it again"), std::string::npos) << text;
  }
}

TEST(Gzip, DamageIsAnErrorThatNamesFileAndRemedy) {
  const std::string bytes = gzip_bytes(long_text(500));
  for (const size_t place : {size_t{0}, bytes.size() / 2, bytes.size() - 6}) {
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    const std::string text = refusal(damaged);
    EXPECT_NE(text.find("out/records.jsonl.gz"), std::string::npos) << place << text;
    EXPECT_NE(text.find("Copy it again"), std::string::npos) << place << text;
  }
  EXPECT_NE(refusal("{\"schema\": 1}\n").find("no gzip file"), std::string::npos);
  EXPECT_NE(refusal(bytes + "tail").find("damaged"), std::string::npos);
}

TEST(Gzip, WhatUnpacksToMoreThanIsAllowedIsRefusedBeforeItIsThere) {
  const std::string bomb = gzip_bytes(std::string(size_t{64} << 20, 'a'));
  EXPECT_LT(bomb.size(), size_t{100} << 10);
  const std::string text = refusal(bomb, size_t{1} << 20);
  EXPECT_NE(text.find("unpacks to more than the 1048576 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("out/records.jsonl.gz"), std::string::npos) << text;
  const std::string exact(1000, 'a');
  EXPECT_EQ(unpacked(gzip_bytes(exact), "a.gz", 1000), exact);
  EXPECT_NE(refusal(gzip_bytes(exact + "a"), 1000), "");
}

TEST(Gzip, ResultsFilesAreUnpackedByTheirName) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("reprise_gzip_" + std::to_string(::getpid()) + ".json.gz");
  write_bytes(file, gzip_bytes(R"({"a": 1})"));
  EXPECT_EQ(read_results_json(file), Value(Fields{{"a", 1}}));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace reprise::results
