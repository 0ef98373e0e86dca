#include "methods/attn_cache/map_store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "methods/attn_cache/map_store_writer.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/attn_cache/map_testing.h"

namespace reprise::attn_cache {
namespace {

using model::expect_error;
using model::TempDir;

class MapStoreForms : public ::testing::TestWithParam<MapForm> {
 protected:
  TempDir folder_;
  std::filesystem::path path_ = folder_.path() / "prompts.maps";
  MapStoreIdentity identity_ = identity_of(GetParam());
};

TEST_P(MapStoreForms, GivesBackWhatWasWrittenInPlace) {
  write_store(path_, identity_, 4);
  const MapStore store(path_);
  EXPECT_EQ(store.identity(), identity_);
  EXPECT_EQ(store.groups().size(), 4u);
  EXPECT_EQ(store.lengths(), (std::vector<int64_t>{5, 8, 11, 14}));
  EXPECT_TRUE(has_right_maps(store));
  EXPECT_NO_THROW(store.check_all());
  // Views point into the mapping, aligned, neighbouring layers one after another.
  for (int64_t g = 0; g < 4; ++g)
    for (int64_t layer = 0; layer < 3; ++layer) {
      const auto bytes = store.layer_bytes(g, layer);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
      const kernels::MapView map = store.map(g, layer);
      const void* first =
          GetParam() == MapForm::kU8 ? static_cast<const void*>(map.row_scales) : map.data;
      EXPECT_EQ(first, bytes.data());
      if (layer > 0) {
        EXPECT_EQ(store.layer_bytes(g, layer - 1).data() + bytes.size(), bytes.data());
      }
    }
  store.fetch_layers(1, 0, 3);
  store.release(1);
  EXPECT_TRUE(has_right_maps(store));  // they are read from the file again
}

TEST_P(MapStoreForms, AnEmptyStoreAndAnUnfinishedGroup) {
  { MapStoreWriter(path_, identity_).commit(); }
  EXPECT_TRUE(MapStore(path_).groups().empty());
  MapStoreWriter writer(path_, identity_);
  write_group(writer, 7, 6);
  writer.begin_group(9, 8);  // its step failed
  writer.add_layer(view_of_map(random_map(1, 2, 9), 2, 9));
  write_group(writer, 9, 4);
  writer.commit();
  const MapStore store(path_);
  EXPECT_EQ(store.groups().size(), 2u);
  EXPECT_TRUE(has_right_maps(store));
}

INSTANTIATE_TEST_SUITE_P(Forms, MapStoreForms,
                         ::testing::Values(MapForm::kF32, MapForm::kBF16, MapForm::kU8),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST(MapStore, WithoutCommitNothingIsThere) {
  const TempDir folder;
  const auto path = folder.path() / "prompts.maps";
  {
    MapStoreWriter writer(path, identity_of(MapForm::kBF16));
    write_group(writer, 7, 6);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  write_store(path, identity_of(MapForm::kBF16), 2);
  {
    MapStoreWriter writer(path, identity_of(MapForm::kBF16));
    write_group(writer, 7, 6);
    EXPECT_EQ(MapStore(path).groups().size(), 2u);  // readers still see the old file
  }
  EXPECT_EQ(MapStore(path).groups().size(), 2u);
}

TEST(MapStore, IsOfOneModelAlone) {
  const TempDir folder;
  const auto path = folder.path() / "prompts.maps";
  write_store(path, identity_of(MapForm::kBF16), 1);
  const MapStore store(path);
  EXPECT_NO_THROW(store.require_model("0123456789abcdef", 3, 2));
  expect_error([&] { store.require_model("another", 3, 2); }, {path.string(), "another"});
  expect_error([&] { store.require_model("0123456789abcdef", 4, 2); }, {"3 layers", "4 layers"});
  expect_error([&] { store.require_model("0123456789abcdef", 3, 1); }, {"2 heads", "1 heads"});
}

TEST(MapStore, LengthsAndPathsThatCannotBeAreErrors) {
  const TempDir folder;
  const MapStoreIdentity identity = identity_of(MapForm::kBF16);
  MapStoreWriter writer(folder.path() / "prompts.maps", identity);
  expect_error([&] { writer.begin_group(0, 3); }, {"0 tokens"});
  expect_error([&] { writer.begin_group(70000, 3); }, {"70000 tokens"});
  expect_error([&] { MapStoreWriter(folder.path() / "no" / "such", identity); }, {"such"});
}

TEST(MapStore, ReleasedMapsAreCheckedAgain) {
  const TempDir folder;
  const auto path = folder.path() / "some.maps";
  write_store(path, identity_of(MapForm::kF32), 2);
  const MapStore store(path);
  store.check_all();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(store.groups()[1].begin));
    file.put('\x7f');
  }
  EXPECT_NO_THROW(store.check_all());  // each map was found sound before
  store.release(0);
  EXPECT_NO_THROW(store.check_all());
  store.release(1);
  expect_error([&] { store.check_all(); }, {path.string(), "group 1, layer 0 is damaged"});
}

TEST(MapStore, FilesOfOtherKindsAndNewerOnesAreRefused) {
  const TempDir folder;
  const auto refused = [&](const std::string& content, const std::string& why) {
    const auto path = folder.write("some.maps", content);
    expect_error([&] { const MapStore store(path); }, {path.string(), why});
  };
  refused("", "does not begin as one");
  refused("RPRSEG2\n", "does not begin as one");
  refused("RPRMAP2\n" + std::string(5000, 'x'), "newer version");
  refused("RPRMAP1\n", "cut off");
  refused("RPRMAP1\n" + std::string(9000, '\0'), "cut off");
  expect_error([&] { const MapStore store(folder.path() / "none.maps"); }, {"none.maps"});
}

TEST(MapStore, HashesOfPromptsTellThemApart) {
  const std::vector<int32_t> a = {1, 2, 3}, b = {1, 2, 4}, c = {1, 2};
  EXPECT_EQ(hash_of_prompt(a), hash_of_prompt(std::vector<int32_t>{1, 2, 3}));
  EXPECT_NE(hash_of_prompt(a), hash_of_prompt(b));
  EXPECT_NE(hash_of_prompt(a), hash_of_prompt(c));
}

}  // namespace
}  // namespace reprise::attn_cache
