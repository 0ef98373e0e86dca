// Tests the expansion of a sweep into groups and points with stable ids.
#include "experiments/framework/sweep.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/experiments/framework/sample_experiment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

RunSettings settings(int threads = 2) {
  return {.context = {.threads = threads, .isa = Isa::kPortable}, .device = Device::kCpu};
}

std::set<std::string> ids_of(const std::vector<Group>& groups) {
  std::set<std::string> ids;
  for (const Group& group : groups) ids.insert(group.point_ids.begin(), group.point_ids.end());
  return ids;
}

TEST(Sweep, TakesEveryCombinationOnce) {
  const auto groups = expand(parse_sample(sample_file()), settings());
  EXPECT_EQ(groups.size(), 2u * 2 * 3);
  EXPECT_EQ(ids_of(groups).size(), groups.size() * 2);
}

TEST(Sweep, LoadsEachModelAndDtypeOnce) {
  std::set<std::string> seen;
  std::string last;
  for (const Group& group : expand(parse_sample(sample_file()), settings())) {
    const std::string model = group.model.model + std::string(name_of(group.dtype));
    if (model != last) {
      EXPECT_TRUE(seen.insert(model).second) << model << " comes back";
    }
    last = model;
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Sweep, LastAxisRunsFastestAndLabelsNameWhatVaries) {
  Json file = sample_file();
  file["settings"] = Json::object();
  file["sweep"]["new_tokens"] = {1, 2};
  const auto groups = expand(parse_sample(file), settings());
  EXPECT_EQ(groups[0].axes.at("new_tokens"), AxisValue(1));
  EXPECT_EQ(groups[1].axes.at("new_tokens"), AxisValue(2));
  EXPECT_EQ(groups[1].axes.at("prompt_tokens"), AxisValue(8));
  EXPECT_EQ(groups[2].axes.at("prompt_tokens"), AxisValue(16));
  EXPECT_EQ(groups[1].label, "models/a f32 prompt_tokens=8 new_tokens=2");
}

TEST(Sweep, AxesOfACaseChangeTogetherAndOthersAreCombinedWithThem) {
  Json file = sample_file();
  file.erase("scales");
  file["settings"] = Json::object();
  file["cases"] = {{{"prompt_tokens", 32}, {"shared_tokens", 16}},
                   {{"prompt_tokens", 8}, {"shared_tokens", 0}}};
  file["sweep"] = {{"new_tokens", {1, 2}}};
  const Experiment experiment = parse_sample(file);
  const auto groups = expand(experiment, settings());
  ASSERT_EQ(groups.size(), 2u * 2 * 2 * 2);
  for (const auto& [at, prompt, shared, generated] :
       {std::tuple{0, 32, 16, 1}, {1, 32, 16, 2}, {2, 8, 0, 1}, {3, 8, 0, 2}}) {
    const Group& group = groups[static_cast<size_t>(at)];
    EXPECT_EQ(group.axes.at("prompt_tokens"), AxisValue(prompt)) << at;
    EXPECT_EQ(group.axes.at("shared_tokens"), AxisValue(shared)) << at;
    EXPECT_EQ(group.axes.at("new_tokens"), AxisValue(generated)) << at;
  }
  EXPECT_EQ(groups[3].label, "models/a f32 prompt_tokens=8 new_tokens=2 shared_tokens=0");
  const results::Manifest made = manifest(experiment, settings(), groups);
  EXPECT_EQ(made.settings.cases.size(), 2u);
  EXPECT_EQ(made.settings.axes.at("prompt_tokens"), (Values{32, 8}));
  EXPECT_EQ(made.points, 32);
  const results::Manifest read = results::read_manifest(written_fields(made), "run.json");
  EXPECT_EQ(read.settings.cases, made.settings.cases);
}

TEST(Sweep, ACaseThatNamesAModelHoldsForThisModelOnly) {
  Json file = sample_file();
  file.erase("scales");
  file["settings"] = Json::object();
  file["models"] = {"models/a", "models/b"};
  file["cases"] = {{{"model", "b"}, {"prompt_tokens", 32}},
                   {{"model", "models/a"}, {"prompt_tokens", 8}},
                   {{"model", "models/b"}, {"prompt_tokens", 16}}};
  file["sweep"] = {{"new_tokens", {1, 2}}};
  const auto places = [](const std::vector<Group>& groups) {
    std::vector<std::string> found;
    for (const Group& group : groups)
      if (group.dtype == DType::kF32 && group.axes.at("new_tokens") == AxisValue(1))
        found.push_back(group.model.model + " " + group.axes.at("prompt_tokens").text());
    return found;
  };
  const Experiment both = parse_sample(file);
  const auto groups = expand(both, settings());
  EXPECT_EQ(places(groups), (std::vector<std::string>{"models/a 8", "models/b 32", "models/b 16"}));
  const results::Manifest made = manifest(both, settings(), groups);
  EXPECT_EQ(made.points, std::ssize(ids_of(groups)));
  EXPECT_EQ(made.settings.cases[0], (Fields{{"model", "models/b"}, {"prompt_tokens", 32}}));
  EXPECT_EQ(made.settings.cases[1], (Fields{{"model", "models/a"}, {"prompt_tokens", 8}}));
  // A case for a model that is not measured is left out.
  file["models"] = {"elsewhere/a"};
  const Experiment one = parse_sample(file);
  EXPECT_EQ(places(expand(one, settings())), (std::vector<std::string>{"elsewhere/a 8"}));
  EXPECT_EQ(one.axis_values[0], (std::vector<AxisValue>{8}));
  // Models without a case have the value in the settings.
  file["models"] = {"models/a", "models/c"};
  file["settings"]["prompt_tokens"] = 64;
  EXPECT_EQ(places(expand(parse_sample(file), settings())),
            (std::vector<std::string>{"models/a 8", "models/c 64"}));
  file["models"] = {"models/c"};
  const Experiment none = parse_sample(file);
  EXPECT_EQ(places(expand(none, settings())), (std::vector<std::string>{"models/c 64"}));
  EXPECT_EQ(none.cases, (std::vector<AxisValues>{{}}));
}

TEST(Sweep, IdsDependOnSettingsNotOnPlaceInTheFile) {
  const auto all = ids_of(expand(parse_sample(sample_file()), settings()));
  EXPECT_EQ(all, ids_of(expand(parse_sample(sample_file()), settings())));
  Json turned = sample_file();
  turned["sweep"]["prompt_tokens"] = {32, 8, 16};
  EXPECT_EQ(all, ids_of(expand(parse_sample(turned), settings())));
  Json renamed = sample_file();
  renamed["title"] = "Another title";
  EXPECT_EQ(all, ids_of(expand(parse_sample(renamed), settings())));
  for (const std::string& id : ids_of(expand(parse_sample(sample_file()), settings(4))))
    EXPECT_FALSE(all.contains(id));
  for (const std::string& id :
       ids_of(expand(parse_sample(sample_file(), "desk", {"seeds.prompts=6"}), settings())))
    EXPECT_FALSE(all.contains(id));
}

TEST(Sweep, PlacesThatDifferOnlyInTheirWeightsHaveTheirOwnLabels) {
  Json file = sample_file();
  file["models"] = {"models/a", {{"model", "models/a"}, {"weights", "random"}}};
  const auto groups = expand(parse_sample(file), settings());
  EXPECT_TRUE(groups.front().label.starts_with("models/a checkpoint ")) << groups.front().label;
  EXPECT_TRUE(groups.back().label.starts_with("models/a random ")) << groups.back().label;
}

// Points without weight formats keep their ids when points with weight formats are added.
TEST(Sweep, WeightFormatsNameTheirPointsAndLeaveOthersAlone) {
  const auto plain = expand(parse_sample(sample_file()), settings());
  EXPECT_FALSE(plain[0].requested[0].contains("weight_format"));
  Json file = sample_file();
  file["models"].push_back(
      {{"model", "llama-2-7b"}, {"weights", "random"}, {"weight_format", "int4"}});
  const auto all = expand(parse_sample(file), settings());
  ASSERT_EQ(all.size(), plain.size() * 3 / 2);
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(all[i].point_ids, plain[i].point_ids) << plain[i].label;
    EXPECT_EQ(all[i].requested[0].at("weight_format"), Value("plain"));
  }
  EXPECT_EQ(ids_of(all).size(), all.size() * 2);
  EXPECT_EQ(all.back().requested[0].at("weight_format"), Value("int4"));
  EXPECT_EQ(all.back().label, "llama-2-7b bf16 int4 prompt_tokens=32");
  EXPECT_EQ(all.back().weight_type().format, WeightFormat::kInt4);
  EXPECT_EQ(all.back().weight_type().input, DType::kBF16);
  EXPECT_EQ(plain.back().weight_type().format, WeightFormat::kBF16);
  EXPECT_NE(manifest(parse_sample(file), settings(), all).config_hash,
            manifest(parse_sample(sample_file()), settings(), plain).config_hash);
}

TEST(Sweep, HashOfTheManifestCoversSettingsNotWords) {
  const auto hash = [](const Json& file, int threads = 2) {
    const Experiment experiment = parse_sample(file);
    return manifest(experiment, settings(threads), expand(experiment, settings(threads)))
        .config_hash;
  };
  const std::string first = hash(sample_file());
  Json words = sample_file();
  words["title"] = "Another";
  words["note"] = "Said otherwise";
  words["plot"]["log_y"] = true;
  EXPECT_EQ(hash(words), first);
  Json more = sample_file();
  more["repetitions"] = 4;
  EXPECT_NE(hash(more), first);
  EXPECT_NE(hash(sample_file(), 1), first);
}

// Metrics that take extra time are measured only if the table or a figure shows them. A folder that
// was measured without them belongs to another experiment.
TEST(Sweep, MetricsOnRequestAreThoseThatSomethingShows) {
  const auto experiment = [](const Json& metrics, const Json& plot) {
    Json file = {{"name", "t"},
                 {"title", "t"},
                 {"kind", "attention"},
                 {"methods", {"contiguous"}},
                 {"settings", {{"prompt_tokens", 8}}},
                 {"sweep", {{"batch", {1, 2}}}}};
    if (!metrics.is_null()) file["metrics"] = metrics;
    if (!plot.is_null()) file["plot"] = plot;
    return parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
  };
  using Names = std::vector<std::string>;
  const auto asked = [](const Experiment& from) {
    const auto groups = expand(from, settings());
    EXPECT_EQ(groups[0].asked_for, groups[1].asked_for);
    EXPECT_EQ(manifest(from, settings(), groups).settings.asked_for, groups[0].asked_for);
    return groups[0].asked_for;
  };
  const Experiment plain = experiment({"latency_us", "append_us"}, {});
  EXPECT_EQ(asked(plain), Names{});
  EXPECT_EQ(asked(experiment({}, {})).size(), 5u) << "without \"metrics\", all";
  EXPECT_EQ(asked(experiment({"stream_ratio", "latency_us"}, {})), Names{"stream_ratio"});
  EXPECT_EQ(asked(experiment({"latency_us"}, {{"x", "batch"}, {"y", "stream_gb_s"}})),
            Names{"stream_gb_s"});
  EXPECT_EQ(asked(experiment({"latency_us"}, {{"family", "stack"},
                                              {"name", "parts"},
                                              {"x", "batch"},
                                              {"stack", {"append_us", "private_us", "merge_us"}}})),
            (Names{"private_us", "merge_us"}));
  const auto hash = [](const Experiment& from) {
    return manifest(from, settings(), expand(from, settings())).config_hash;
  };
  EXPECT_EQ(hash(plain), hash(experiment({"latency_us"}, {})));
  EXPECT_NE(hash(plain), hash(experiment({"latency_us", "merge_us"}, {})));
}

TEST(Sweep, AbsurdSizeIsRefusedBeforeItIsBuilt) {
  Json file = sample_file();
  std::vector<int> many(900);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int>(i) + 1;
  file["settings"] = Json::object();
  file["sweep"] = {{"prompt_tokens", many}, {"new_tokens", many}, {"prefill_chunk", many}};
  EXPECT_THROW((void)expand(parse_sample(file), settings()), Error);
}

TEST(Sweep, CacheDtypeFollowsTheModelUnlessSaid) {
  for (const Group& group : expand(parse_sample(sample_file()), settings()))
    EXPECT_EQ(group.kv_dtype, group.dtype);
  for (const Group& group :
       expand(parse_sample(sample_file(), "desk", {"kv_dtype=bf16"}), settings()))
    EXPECT_EQ(group.kv_dtype, DType::kBF16);
}

}  // namespace
}  // namespace reprise::experiments
