// Tests how processes divide an experiment: the texts of shards, environments, and which process
// gets which group.
#include "experiments/framework/shard.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

Shard rank_of(const std::map<std::string, std::string>& environment) {
  return shard_of_rank([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Shard, EveryGroupIsOneShardsAlone) {
  for (size_t group = 0; group < 100; ++group) {
    int owners = 0;
    for (int64_t index = 0; index < 7; ++index)
      owners += Shard{.index = index, .count = 7}.takes(group) ? 1 : 0;
    EXPECT_EQ(owners, 1) << group;
  }
  EXPECT_TRUE(Shard{}.takes(99));
  EXPECT_TRUE((Shard{.index = 2, .count = 7, .is_dynamic = true}).takes(99));
}

TEST(Shard, ReadsItsText) {
  const Shard second = parse_shard("2/4");
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.count, 4);
  EXPECT_FALSE(second.is_dynamic);
  EXPECT_EQ(second.writer(), "2of4");
  EXPECT_EQ(second.text(), "shard 2/4");
  EXPECT_TRUE(parse_shard("1/1").is_whole());
  EXPECT_EQ(parse_shard("1/1").writer(), "");
  for (const char* bad : {"", "2", "01/4", "2/04", "0/4", "5/4", "2/0", "-1/4", "a/b", "2/4/8",
                          "1/", "/4", "2/ 4", "1/10001", "1/99999999999999999999"}) {
    try {
      (void)parse_shard(bad);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("--shard 2/4"), std::string::npos) << error.what();
    }
  }
}

TEST(Shard, FindsItsRankByWhatLaunchersSet) {
  EXPECT_TRUE(rank_of({}).is_whole());
  EXPECT_TRUE(rank_of({{"SLURM_PROCID", "0"}}).is_whole());
  EXPECT_TRUE(rank_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).is_whole());
  const Shard slurm = rank_of({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}});
  EXPECT_EQ(slurm.index, 3);
  EXPECT_EQ(slurm.count, 8);
  EXPECT_TRUE(slurm.is_dynamic);
  EXPECT_FALSE(slurm.tells_results());
  EXPECT_EQ(slurm.writer(), "rank3of8");
  EXPECT_EQ(slurm.text(), "rank 3 of 8");
  EXPECT_TRUE(rank_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).tells_results());
  // For mpirun inside a Slurm job, the rank is mpirun's.
  EXPECT_EQ(rank_of({{"OMPI_COMM_WORLD_RANK", "1"},
                     {"OMPI_COMM_WORLD_SIZE", "2"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_NTASKS", "1"}})
                .writer(),
            "rank1of2");
  EXPECT_THROW((void)rank_of({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), Error);
  EXPECT_THROW((void)rank_of({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}), Error);
}

}  // namespace
}  // namespace reprise::experiments
