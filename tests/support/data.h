// Finds the real data for tests, which are skipped without it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace reprise::testing {

// The folder that REPRISE_DATA names, if it contains the folder `wanted`; otherwise "". A folder
// with only what `reprise data get` fetched may lack it.
inline std::filesystem::path data_dir(const char* wanted = "golden") {
  const char* dir = std::getenv("REPRISE_DATA");
  std::error_code error;
  if (dir == nullptr || !std::filesystem::exists(std::filesystem::path(dir) / wanted, error))
    return {};
  return dir;
}

// Reads a whole file of little-endian f32 values.
inline std::vector<float> read_f32(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

}  // namespace reprise::testing

#define REPRISE_NEEDS_DATA()                  \
  if (::reprise::testing::data_dir().empty()) \
  GTEST_SKIP() << "REPRISE_DATA does not name the folder of reference models and texts"
