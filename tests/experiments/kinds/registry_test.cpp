// Tests the list of kinds: what each kind declares, and that its records keep to it.
#include "experiments/kinds/registry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "tests/experiments/kinds/accuracy/question_items.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/cold_disk.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class KindRegistry : public KindOnTinyModel {
 protected:
  // A small group of the kind, with methods and settings that make it measure as many metrics as
  // possible.
  Group small_group(const std::string& kind) const {
    if (kind == "attention")
      return attention_group({{"batch", 2},
                              {"heads", 2},
                              {"head_dim", 16},
                              {"prompt_tokens", 40},
                              {"shared_tokens", 32},
                              {"hidden", 32},
                              {"intermediate", 64}},
                             {"paged", "chunk_attention", "relay_attention"});
    if (kind == "accuracy") {
      write_question_items(dir_ / "items.jsonl");
      return group_of(
          {{"kind", kind},
           {"models", {"models/quickstart"}},
           {"series", {"isolated", "joint"}},
           {"workload", {{"name", "questions"}, {"file", (dir_ / "items.jsonl").string()}}}});
    }
    if (kind == "sentences") {
      std::ofstream(dir_ / "pairs.tsv") << "5\tA cat\tA cat.\n2\tA dog\tThe tree\n"
                                           "1\tHe ran\tBlue sky\n4\tShe sat\tShe sat down\n"
                                           "3\tA cow\tA cow ate\n0\tHis dog\tAn old tree\n"
                                           "4\tRed sky\tA red sky\n2\tHe ate\tShe ate it\n";
      return group_of(
          {{"kind", kind},
           {"models", {"models/quickstart"}},
           {"methods",
            {"compute",
             "maps",
             {{"name", "attn_cache"},
              {"options", {{"preset", "raw"}, {"lengths", "fit"}, {"threshold", -1e6}}}}}},
           {"workload", {{"name", "sentence_pairs"}, {"file", (dir_ / "pairs.tsv").string()}}},
           {"settings", {{"database_share", 0.5}, {"texts_per_step", 1}}},
           {"repetitions", 2}});
    }
    if (kind == "attention_maps") {
      std::ofstream(dir_ / "alike.tsv") << "5\tA cat, a dog, a fox\tA cat, a fox, a dog\n"
                                           "2\tA dog\tA cat\n";
      return group_of(
          {{"kind", kind},
           {"models", {"models/quickstart"}},
           {"series", {"pairs", "uniform"}},
           {"workload", {{"name", "sentence_pairs"}, {"file", (dir_ / "alike.tsv").string()}}}});
    }
    if (kind == "prefill")
      return group_of({{"kind", kind},
                       {"methods",
                        {"compute",
                         "maps",
                         {{"name", "attn_cache"},
                          {"options", {{"preset", "raw"}, {"threshold", 1.0 - 1e-6}}}}}},
                       {"settings", {{"prompt_tokens", 20}, {"operations", "apart"}}},
                       {"repetitions", 2}});
    if (kind == "token_memory")
      return group_of({{"kind", kind}, {"series", {"all_heads", "kv_heads"}}});
    if (kind == "state_copy")
      return group_of({{"kind", kind},
                       {"series", {"host_to_host", "gather", "mapped_file"}},
                       {"settings", {{"tokens", 40}}},
                       {"repetitions", 2}});
    if (kind == "pml")
      return group_of({{"kind", kind},
                       {"models", {"models/quickstart"}},
                       {"series", {"baseline"}},
                       {"compared_with", "series"},
                       {"methods",
                        {{{"name", "prompt_cache"},
                          {"options", {{"tier", has_cold_disk(dir_) ? "cold_disk" : "disk"}}}}}},
                       {"workload", "use_cases"},
                       {"settings", {{"use_case", "personal"}, {"new_tokens", 4}}},
                       {"repetitions", 2}});
    if (kind == "serving")
      return group_of({{"kind", kind},
                       {"methods",
                        {"paged",
                         "relay_attention",
                         {{"name", "prompt_cache"}, {"options", {{"tier", "disk"}}}}}},
                       {"workload", "grid"},
                       {"settings",
                        {{"shared_tokens", 64},
                         {"user_tokens", 6},
                         {"output_tokens", 6},
                         {"requests", 4},
                         {"rate_rps", 1000.0},
                         {"judged_partings", 1},
                         {"usd_per_hour", 1.0},
                         {"slo_ttft_ms", 1e6}}}});
    if (kind == "request_lengths")
      return group_of(
          {{"kind", kind},
           {"series", {"prompts", "own", "outputs", "shared", "prefixes"}},
           {"workload", "grid"},
           {"settings",
            {{"shared_tokens", 64}, {"user_tokens", 6}, {"output_tokens", 6}, {"requests", 4}}}});
    Json methods = {"contiguous",
                    {{"name", "chunk_attention"}, {"options", {{"reuse_prefill", true}}}}};
    const bool is_cold = kind == "ttft" && has_cold_disk(dir_);
    methods.push_back(
        {{"name", "prompt_cache"}, {"options", {{"tier", is_cold ? "cold_disk" : "disk"}}}});
    return group_of(
        {{"kind", kind},
         {"methods", methods},
         {"settings", {{"prompt_tokens", 70}, {"shared_tokens", 64}, {"new_tokens", 6}}},
         {"repetitions", 2}});
  }
  // small_group(), and further groups if one group cannot have all metrics.
  std::vector<Group> small_groups(const std::string& kind) const {
    std::vector<Group> groups = {small_group(kind)};
    if (kind == "serving") {
      std::ofstream(dir_ / "art_test.csv") << "Where?,a,b,c,d,A\n";
      groups.push_back(
          group_of({{"kind", kind},
                    {"models", {"models/quickstart"}},
                    {"methods", {"paged"}},
                    {"workload", {{"name", "mmlu"}, {"file", (dir_ / "art_test.csv").string()}}},
                    {"settings", {{"shots", 0}, {"output_tokens", 2}}}}));
      groups.push_back(group_of({{"kind", kind},
                                 {"methods", {"paged"}},
                                 {"workload", "grid"},
                                 {"settings",
                                  {{"user_tokens", 6},
                                   {"output_tokens", 1},
                                   {"requests", 100},
                                   {"arrivals", "constant"},
                                   {"max_batch", 1},
                                   {"modelled_step_ms", 10.0},
                                   {"slo_ttft_ms", 20.0},
                                   {"slo_share", 0.9},
                                   {"search", "highest_rate"},
                                   {"search_trials", 1},
                                   {"least_duration_s", 0}}}}));
    }
    return groups;
  }
  // The machine has little L3 cache, so that a step of a tiny model counts as one that reads
  // memory.
  const Json machine_ = {{"l3_bytes", 1024},
                         {"limits",
                          {{"f32_gflop_s", 100.0},
                           {"bf16_gflop_s", 300.0},
                           {"dram_read_gb_s", 10.0},
                           {"l3_read_gb_s", 20.0}}}};
};

TEST_F(KindRegistry, EveryKindIsMadeByItsName) {
  for (const KindInfo& info : known_kinds()) EXPECT_NE(make_kind(info.name, context_), nullptr);
}

TEST_F(KindRegistry, EveryKindSaysWhatItSweepsAndMeasures) {
  std::set<std::string> kinds;
  for (const KindInfo& info : known_kinds()) {
    EXPECT_TRUE(kinds.insert(info.name).second) << info.name << " twice";
    EXPECT_FALSE(info.summary.empty());
    std::set<std::string> names;
    for (const Axis& axis : info.axes) {
      EXPECT_TRUE(names.insert(axis.name).second) << axis.name << " twice";
      EXPECT_FALSE(axis.help.empty()) << axis.name;
      EXPECT_EQ(axis.read(axis.fallback.value(), axis.name), axis.fallback);
    }
    for (const MetricInfo& metric : info.metrics) {
      EXPECT_TRUE(names.insert(metric.name).second) << metric.name << " twice";
      EXPECT_FALSE(metric.unit.empty()) << metric.name;
      EXPECT_FALSE(metric.help.empty()) << metric.name;
    }
  }
}

// A metric that is listed but never measured is as misleading as one with a wrong unit.
TEST_F(KindRegistry, WhatIsListedIsMeasuredInItsUnit) {
  // None of the groups here is certain to have these metrics. They appear only where runs diverge,
  // where a method happens to be faster, where another server sends several tokens in an event or
  // sends reasoning, or where maps are partly on disk, which a file system in memory does not
  // allow.
  std::set<std::string> rare = {"largest_tie_gap",     "largest_tie_gap_ratio", "first_divergence",
                                "speedup_degradation", "event_gap_ms",          "tokens_per_event",
                                "on_disk_mb",          "reasoning_tokens"};
  if (!has_cold_disk(dir_)) rare.insert("disk_gb_s");
  for (const KindInfo& info : known_kinds()) {
    const auto kind = make_kind(info.name, context_);
    std::set<std::string> units;
    for (const Group& group : small_groups(info.name)) {
      kind->check(group);
      for (const Measured& measured :
           measured_json(kind->measure(group, machine_of_json(machine_), stop_)))
        for (const auto& [name, metric] : measured.metrics.items())
          units.insert(name + " in " + metric["unit"].get<std::string>());
    }
    for (const MetricInfo& metric : info.metrics)
      if (!rare.contains(metric.name)) {
        EXPECT_TRUE(units.contains(metric.name + " in " + metric.unit))
            << info.name << " does not measure " << metric.name << " in " << metric.unit;
      }
  }
}

// Each method runs in each kind that takes methods, or an experiment file is refused with the
// reason that `reprise list methods` gives.
TEST(MethodMatrix, EachCellRunsOrIsRefusedWithItsReason) {
  const Vocabulary vocabulary = known_vocabulary();
  int refused = 0, accepted = 0;
  for (const MethodCell& cell : method_matrix()) {
    const auto kind = std::find_if(vocabulary.kinds.begin(), vocabulary.kinds.end(),
                                   [&](const KindInfo& info) { return info.name == cell.place; });
    if (kind == vocabulary.kinds.end()) continue;  // the place is a command
    Json file = {{"name", "t"}, {"title", "t"}, {"kind", cell.place}, {"methods", {cell.method}}};
    if (kind->takes_model) file["models"] = {"models/quickstart"};
    if (!kind->own_workloads.empty())
      file["workload"] = {{"name", kind->own_workloads.front().name}, {"file", "items"}};
    std::string error;
    try {
      (void)parse_experiment(file, "t.json", "desk", {}, vocabulary);
    } catch (const Error& thrown) {
      error = thrown.what();
    }
    EXPECT_EQ(error.find("method") != std::string::npos, !cell.refusal.empty())
        << cell.method << " in " << cell.place << ": " << error;
    if (cell.refusal.empty()) {
      ++accepted;
      continue;
    }
    ++refused;
    EXPECT_NE(error.find(fmt::format("method \"{}\" does not run in kind \"{}\": {}", cell.method,
                                     cell.place, cell.refusal)),
              std::string::npos)
        << error;
  }
  EXPECT_GT(accepted, 40);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace reprise::experiments
