// Tests routes that copy states: what they copy, what the records say, and what is refused.
#include "experiments/kinds/latency/state_copy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/problems.h"
#include "experiments/kinds/latency/state_routes.h"
#include "results/data_dir.h"
#include "results/paper_numbers.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class StateCopy : public KindOnTinyModel {
 protected:
  Group group(const Json& changes = Json::object()) const {
    Json file = {{"kind", "state_copy"},
                 {"models", {{{"model", "llama-2-13b"}, {"weights", "random"}}}},
                 {"dtypes", {"bf16"}},
                 {"series", {"host_to_host", "gather", "mapped_file"}},
                 {"settings", {{"tokens", 50}, {"layers", 2}}},
                 {"repetitions", 3},
                 {"warmup", 1}};
    file.merge_patch(changes);
    return group_of(file);
  }
  std::string refusal(const Json& changes) {
    Problems problems;
    problems.collect([&] { StateCopyKind(context_).check(group(changes)); });
    return fmt::format("{}", fmt::join(problems.list(), "\n"));
  }
};

TEST_F(StateCopy, EveryRouteCopiesEveryByteAtOddShapes) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int64_t tokens : {1, 37, 200}) {
      const kv::SegmentShape shape{
          .layers = 3, .kv_heads = 3, .tokens = tokens, .head_dim = 17, .dtype = dtype};
      for (const int64_t modules : {int64_t{1}, std::min<int64_t>(5, tokens), tokens}) {
        StateRoutes routes(shape, {kHostToHost, kGather, kMappedFile}, modules, context_);
        for (const char* route : {kGather, kMappedFile, kHostToHost, kMappedFile, kGather})
          EXPECT_TRUE(routes.copies_all(route))
              << route << " of " << modules << " modules, " << kv::text_of(shape);
      }
    }
  }
}

TEST_F(StateCopy, RatesFollowFromTheTimeOfALayer) {
  StateCopyKind kind(context_);
  kind.check(group());
  const Json machine = {{"l3_bytes", 1024}, {"limits", {{"dram_read_gb_s", 50.0}}}};
  const auto measured = measured_json(kind.measure(group(), machine_of_json(machine), stop_));
  ASSERT_EQ(measured.size(), 3u);
  // 2 x 40 heads x 50 tokens x 128 x 2 bytes
  const double layer_mb = 1.024;
  for (const Measured& route : measured) {
    EXPECT_EQ(route.samples["layer_ms"].size(), 3u);
    const double ms = route.metrics["layer_ms"]["value"];
    EXPECT_GT(ms, 0);
    EXPECT_DOUBLE_EQ(route.metrics["layer_mb"]["value"], layer_mb);
    EXPECT_NEAR(route.metrics["copied_gb_s"]["value"].get<double>() * ms, layer_mb, 1e-9);
    EXPECT_NEAR(route.metrics["memory_limit_ratio"]["value"].get<double>() * ms * 50 / 2, layer_mb,
                1e-9);
    EXPECT_EQ(route.resolved["memory_level"], "dram");
    EXPECT_EQ(route.core_use["wall_ms"].size(), 3u);
  }
}

TEST_F(StateCopy, ThePapersNumbersStandBesideItsShape) {
  const results::PaperNumbers paper = results::load_paper_numbers("prompt_cache_memcpy");
  Fields settings = StateCopyKind(context_).measure(group(), Machine(), stop_)[0].resolved;
  settings["method"] = "host_to_host";
  settings["tokens"] = 5000;
  EXPECT_EQ(paper.at(settings).at("layer_ms").value, 3.79);
  settings["tokens"] = 2500;
  EXPECT_TRUE(paper.at(settings).empty());
}

TEST_F(StateCopy, MemoryIsCountedForWhatTheRoutesHold) {
  StateCopyKind kind(context_);
  const double states = 2 * 1.024e6;
  EXPECT_EQ(kind.memory_need(group()).bytes, 4 * states);
  EXPECT_EQ(kind.memory_need(group({{"series", {"host_to_host"}}})).bytes, 2 * states);
  EXPECT_EQ(kind.memory_need(group({{"series", {"gather"}}})).bytes, 2 * states);
}

// The memory that is available is the device's, so what lies on the host does not count.
TEST_F(StateCopy, WithADeviceItsMemoryIsCounted) {
  Context context = context_;
  context.device = Device::kCuda;
  StateCopyKind kind(context);
  const double states = 2 * 1.024e6;
  EXPECT_EQ(kind.memory_need(group()).bytes, 0);
  EXPECT_EQ(kind.memory_need(group({{"series", {"gather", "host_to_device"}}})).bytes, states);
  EXPECT_EQ(kind.memory_need(group({{"series", {"device_to_device"}}})).bytes, 2 * states);
  EXPECT_EQ(kind.memory_need(group({{"series", {"host_to_device", "device_to_device"}}})).bytes,
            2 * states);
}

TEST_F(StateCopy, WhatCannotBeIsRefusedBeforeAnythingIsMeasured) {
  EXPECT_EQ(refusal(Json::object()), "");
  EXPECT_NE(refusal({{"settings", {{"layers", 41}}}}).find("llama-2-13b has 40"),
            std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"modules", 51}}}}).find("there are 50 tokens"),
            std::string::npos);
  EXPECT_EQ(refusal({{"settings", {{"modules", 51}}}, {"series", {"host_to_host"}}}), "");
  EXPECT_NE(refusal({{"series", nullptr}, {"methods", {"contiguous"}}})
                .find("method \"contiguous\" does not run in kind \"state_copy\""),
            std::string::npos);
}

TEST_F(StateCopy, TheShippedFileCanBeRun) {
  const auto path = results::data_dir() / "experiments" / "prompt_cache" / "memcpy.json";
  for (const char* scale : {"smoke", "desk", "paper"})
    for (const Group& one : expand(load_experiment(path, scale, {}, known_vocabulary()),
                                   {.context = context_, .device = Device::kCpu}))
      EXPECT_NO_THROW(StateCopyKind(context_).check(one)) << scale << " " << one.label;
}

TEST_F(StateCopy, RaisedStopGivesTheGroupUp) {
  stop_ = true;
  EXPECT_THROW((void)measured_json(StateCopyKind(context_).measure(group(), Machine(), stop_)),
               Interrupted);
}

}  // namespace
}  // namespace reprise::experiments
