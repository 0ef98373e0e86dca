#include "core/model/checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include "core/model/checkpoint/safetensors.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::model {
namespace {

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TempDir folder;
  const auto path = folder.path() / "some.safetensors";
  const std::vector<float> a = {1.5f, -2, 3, 4, 5, 6}, b = {7}, none;
  const std::vector<TensorToWrite> tensors = {
      {"a \"b\"", {2, 3}, a}, {"b", {}, b}, {"c", {0}, none}};
  for (const std::string metadata : {"", R"({"key":"{\"x\":1}"})"}) {
    write_safetensors(path, tensors, metadata);
    const SafetensorsFile file(path);
    ASSERT_EQ(file.entries().size(), 3u);
    for (const TensorToWrite& tensor : tensors) {
      const SafetensorsEntry& entry = file.entries().at(tensor.name);
      EXPECT_EQ(entry.shape, tensor.shape);
      EXPECT_EQ(entry.offset_bytes % sizeof(float), 0u);
      std::vector<float> values(tensor.values.size());
      file.read(entry, 0, entry.elements, DType::kF32, values.data());
      EXPECT_EQ(values, std::vector<float>(tensor.values.begin(), tensor.values.end()));
    }
    EXPECT_EQ(safetensors_metadata_of(path), metadata.empty() ? "{}" : metadata);
  }
}

TEST(SafetensorsWriter, NamesWhatItCannotWriteOrRead) {
  const TempDir folder;
  const std::vector<float> values = {1};
  const TensorToWrite tensor = {"a", {1}, values};
  expect_error([&] { write_safetensors(folder.path() / "no" / "such", {&tensor, 1}); }, {"such"});
  const auto cut = folder.write("cut.safetensors", "1234");
  expect_error([&] { (void)safetensors_metadata_of(cut); }, {"cut.safetensors", "cut off"});
}

}  // namespace
}  // namespace reprise::model
