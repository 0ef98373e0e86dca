// Tests the promises of every source of requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/workloads/serving/sample_sources.h"

namespace reprise::workloads {
namespace {

using model::TempDir;
using Tokens = std::vector<int32_t>;

std::string label(const SampleSource& sample) {
  return sample.name + " of vocabulary " + std::to_string(sample.options.vocab) + " " +
         sample.options.file.filename().string();
}

TEST(RequestSources, EachHasASample) {
  const TempDir dir;
  std::set<std::string> sampled, known;
  for (const SampleSource& sample : sample_sources(dir, 100)) sampled.insert(sample.name);
  for (const SourceInfo& info : known_request_sources()) {
    EXPECT_TRUE(known.insert(info.name).second) << info.name << " twice";
    EXPECT_FALSE(info.summary.empty());
  }
  EXPECT_EQ(sampled, known);
}

// Compares each prompt with all earlier ones. With few different ids, prompts have much in common
// by chance.
TEST(RequestSources, SharedTokensAreTheLongestPrefixInCommonWithWhatCameBefore) {
  const TempDir dir;
  for (const int64_t vocab : {1, 2, 7, 32000})
    for (const SampleSource& sample : sample_sources(dir, vocab)) {
      const auto source = make_request_source(sample.name, sample.options);
      const std::vector<ServingRequest> requests = requests_of(*source);
      const std::vector<DeclaredPrefix> prefixes = source->prefixes();
      for (size_t i = 0; i < requests.size(); ++i) {
        int64_t expected = 0;
        for (size_t j = 0; j < i; ++j)
          expected = std::max(expected, common_prefix(requests[i].prompt, requests[j].prompt));
        if (requests[i].prefix >= 0)
          expected = std::max(
              expected, std::ssize(prefixes.at(static_cast<size_t>(requests[i].prefix)).tokens));
        ASSERT_EQ(requests[i].shared_tokens, expected) << label(sample) << " request " << i;
      }
    }
}

TEST(RequestSources, PromptsAreAsLongAsTheySayAndBeginWithTheirPrefix) {
  const TempDir dir;
  for (const SampleSource& sample : sample_sources(dir, 32000)) {
    const auto source = make_request_source(sample.name, sample.options);
    const std::vector<DeclaredPrefix> prefixes = source->prefixes();
    ASSERT_GT(source->size(), 0);
    for (int64_t i = 0; i < source->size(); ++i) {
      const ServingRequest request = source->request(i);
      EXPECT_EQ(std::ssize(request.prompt), source->lengths(i).prompt) << label(sample);
      EXPECT_EQ(request.output_tokens, source->lengths(i).output) << label(sample);
      EXPECT_GE(request.output_tokens, 1);
      EXPECT_TRUE(std::all_of(request.prompt.begin(), request.prompt.end(),
                              [](int32_t id) { return 0 <= id && id < 32000; }));
      if (request.prefix < 0) continue;
      const Tokens& prefix = prefixes.at(static_cast<size_t>(request.prefix)).tokens;
      EXPECT_EQ(common_prefix(prefix, request.prompt), std::ssize(prefix)) << label(sample);
    }
  }
}

TEST(RequestSources, TimesAscendWhereThereAreAny) {
  const TempDir dir;
  for (const SampleSource& sample : sample_sources(dir, 50)) {
    const auto source = make_request_source(sample.name, sample.options);
    const std::vector<double> times = source->arrivals_s();
    const std::vector<SourceInfo> known = known_request_sources();
    const auto info = std::find_if(known.begin(), known.end(), [&](const SourceInfo& each) {
      return each.name == sample.name;
    });
    EXPECT_EQ(info->is_timed, !times.empty()) << sample.name;
    if (times.empty()) continue;
    EXPECT_EQ(std::ssize(times), source->size());
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_GE(times.front(), 0);
  }
}

TEST(RequestSources, AreTheSameAgainAndFromSeveralThreads) {
  const TempDir dir;
  for (const SampleSource& sample : sample_sources(dir, 40)) {
    const auto source = make_request_source(sample.name, sample.options);
    const std::vector<ServingRequest> expected =
        requests_of(*make_request_source(sample.name, sample.options));
    std::vector<ServingRequest> found[2];
    std::thread other([&] { found[1] = requests_of(*source); });
    found[0] = requests_of(*source);
    other.join();
    EXPECT_TRUE(found[0] == expected && found[1] == expected) << label(sample);
  }
}

// The seed of the order changes neither the set of prompts nor the arrival times.
TEST(RequestSources, SeedsChangeTheirOwnDimensionAlone) {
  const TempDir dir;
  const auto sorted_prompts = [](const RequestSource& source) {
    std::multiset<Tokens> prompts;
    for (ServingRequest& request : requests_of(source)) prompts.insert(std::move(request.prompt));
    return prompts;
  };
  int moved = 0, asked_otherwise = 0;
  for (const SampleSource& sample : sample_sources(dir, 30000)) {
    const auto base = make_request_source(sample.name, sample.options);
    SourceOptions options = sample.options;
    options.order_seed = 77;
    const auto reordered = make_request_source(sample.name, options);
    EXPECT_EQ(sorted_prompts(*base), sorted_prompts(*reordered)) << label(sample);
    EXPECT_EQ(base->arrivals_s(), reordered->arrivals_s());
    moved += requests_of(*base) == requests_of(*reordered) ? 0 : 1;
    options = sample.options;
    options.prompts_seed = 77;
    const auto others = make_request_source(sample.name, options);
    EXPECT_EQ(base->arrivals_s(), others->arrivals_s()) << label(sample);
    asked_otherwise += sorted_prompts(*base) == sorted_prompts(*others) ? 0 : 1;
    options = sample.options;
    options.arrivals_seed = 77;
    const auto at_others = make_request_source(sample.name, options);
    EXPECT_EQ(base->arrivals_s() == at_others->arrivals_s(), sample.name != "servegen");
  }
  EXPECT_GE(moved, 8);             // all but traces, and samples whose two requests may stay
  EXPECT_GE(asked_otherwise, 14);  // all but sources of texts
}

// A sample is drawn without replacement, and a larger one holds the smaller one.
TEST(RequestSources, SamplesGrow) {
  const TempDir dir;
  const auto file = dir.write("lengths.csv", [] {
    std::string text;
    for (int i = 1; i <= 200; ++i) text += std::to_string(i) + ",5\n";
    return text;
  }());
  const auto lengths_of = [&](int64_t requests, const char* order) {
    const auto source = make_request_source(
        "lengths", {.file = file, .vocab = 9, .requests = requests, .order = order});
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < source->size(); ++i) lengths.push_back(source->lengths(i).prompt);
    return lengths;
  };
  std::set<int64_t> last;
  for (const int64_t requests : {0, 1, 7, 60, 199, 200, 5000}) {
    const std::vector<int64_t> shuffled = lengths_of(requests, "shuffled");
    const std::vector<int64_t> recorded = lengths_of(requests, "recorded");
    const std::set<int64_t> some(shuffled.begin(), shuffled.end());
    EXPECT_EQ(some.size(), requests == 0 ? 200u : std::min<size_t>(200, requests));
    EXPECT_EQ(some, std::set<int64_t>(recorded.begin(), recorded.end()));
    EXPECT_TRUE(std::is_sorted(recorded.begin(), recorded.end()));
    if (requests > 1) {
      EXPECT_FALSE(std::is_sorted(shuffled.begin(), shuffled.end()));
      EXPECT_TRUE(std::includes(some.begin(), some.end(), last.begin(), last.end()));
    }
    if (requests > 0) last = some;
  }
}

TEST(RequestSources, UnknownNameOffersTheNearest) {
  model::expect_error([] { (void)make_request_source("moonkake", {.vocab = 5}); },
                      {"unknown source", "did you mean \"mooncake\""});
}

}  // namespace
}  // namespace reprise::workloads
