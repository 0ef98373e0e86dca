#include "core/base/page_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/error.h"
#include "core/base/mapped_file.h"

namespace reprise {
namespace {

// A file on a disk is dropped whole from the page cache. A file system in memory (tmpfs) can drop
// nothing.
TEST(PageCache, AFileThatNobodyHoldsLeavesAndIsReadWhole) {
  const auto path =
      std::filesystem::temp_directory_path() / ("reprise_page_cache_" + std::to_string(::getpid()));
  const std::string text(300'001, 'x');
  std::ofstream(path, std::ios::binary) << text;
  const int64_t kept = drop_from_page_cache(path);
  EXPECT_TRUE(kept == 0 || kept >= 300'001) << kept;
  EXPECT_EQ(read_through(path), 300'001);
  const MappedFile held(path);
  int64_t sum = 0;
  for (const std::byte byte : held.bytes()) sum += static_cast<int64_t>(byte);
  EXPECT_EQ(sum, 300'001 * int64_t{'x'});
  EXPECT_GT(drop_from_page_cache(path), 300'000) << "what is mapped and touched stays";
  std::filesystem::remove(path);
  EXPECT_THROW(drop_from_page_cache(path), Error);
  EXPECT_THROW(read_through(path), Error);
}

}  // namespace
}  // namespace reprise
