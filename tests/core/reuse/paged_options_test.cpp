#include "core/reuse/paged_options.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::reuse {
namespace {

using model::expect_error;

PagedOptions read_paged(const Json& json) {
  return read_options<PagedOptions>(fields_of(json), "options");
}

TEST(PagedOptions, VersionTwoIsPartitioned) {
  EXPECT_EQ(read_paged(Json::object()).block_tokens, 64);
  EXPECT_EQ(read_paged(Json::object()).plan().private_partition_tokens, 0);
  EXPECT_EQ(read_paged({{"version", 2}}).plan().private_partition_tokens, 512);
  EXPECT_EQ(read_paged({{"version", 2}, {"block_tokens", 32}, {"partition_tokens", 96}})
                .plan()
                .private_partition_tokens,
            96);
}

TEST(PagedOptions, MistakesNameTheOption) {
  expect_error([] { read_paged({{"block_tokens", 7}}); }, {"block_tokens", "7", "8 to 128"});
  expect_error([] { read_paged({{"version", 3}}); }, {"version", "3"});
  expect_error([] { read_paged({{"partition_tokens", 64}}); }, {"partition_tokens", "version"});
  expect_error(
      [] {
        read_paged({{"version", 2}, {"partition_tokens", 40}});
      },
      {"partition_tokens", "40", "64"});
}

}  // namespace
}  // namespace reprise::reuse
