// Tests the document for the plot script: titles of the drawn points, and which points have a
// place.
#include "results/drawing.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "results/manifest.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

// Two points; the second one lacks the metric that the figure shows.
ResultsFolder two_points() {
  ResultsFolder folder{.source = "made-up", .run = {}, .records = {}, .skipped = {}};
  for (const int tokens : {8, 16}) {
    Record record = sample_record(std::to_string(tokens), "g", 0, 1);
    record.settings.requested = {{"method", "contiguous"}, {"prompt_tokens", tokens}};
    record.settings.resolved = {{"prompt_tokens", tokens}, {"heads", 4 * tokens}};
    folder.records.push_back(std::move(record));
  }
  folder.records[1].metrics = {{"tpot_ms", {.value = 1.0, .unit = "ms"}}};
  const Json manifest = {
      {"settings",
       {{"axes", {{"prompt_tokens", {8, 16, 32}}, {"heads", {0}}}},
        {"methods", {{{"name", "contiguous"}}}}}},
      {"metrics", {"ttft_ms"}},
      {"caption", {{"note", "{{as it is}} {prompt_tokens}"}}},
      {"plots",
       {{{"x", "prompt_tokens"}, {"y", "ttft_ms"}, {"name", "a"}, {"title", "{heads} heads"}},
        {{"x", "prompt_tokens"},
         {"family", "stack"},
         {"stack", {"ttft_ms", "tpot_ms"}},
         {"name", "b"},
         {"title", "{heads} heads"}}}}};
  folder.run = read_manifest(value_of(manifest), "run.json");
  check_manifest(folder.run, "run.json");
  return folder;
}

TEST(FiguresDocument, FillsTitlesFromThePointsThatAreDrawn) {
  const Json document = json_of(figures_document(two_points()));
  EXPECT_EQ(document["run"]["plots"][0]["title"], "32 heads");
  EXPECT_EQ(document["run"]["plots"][1]["title"], "32 and 64 heads");
  EXPECT_EQ(document["run"]["plots"][0]["note"], "{as it is} 8");
  EXPECT_EQ(document["missing"], 1);  // the point of 32 tokens
  EXPECT_EQ(document["records"].size(), 2u);
  EXPECT_FALSE(document["records"][0].contains("samples"));
}

TEST(FiguresDocument, KeepsTheSamplesThatATimelineDraws) {
  ResultsFolder folder = two_points();
  folder.run.plots[0].family = "timeline";
  const Json document = json_of(figures_document(folder));
  EXPECT_EQ(document["records"][0]["samples"], Json({{"ttft_ms", {2.0, 1.0}}}));
}

TEST(FiguresDocument, PlacesThatNoCaseHasAreNotMissing) {
  ResultsFolder folder = two_points();
  folder.run.settings.cases = {{{"prompt_tokens", 8}}, {{"prompt_tokens", 16}}};
  EXPECT_EQ(json_of(figures_document(folder))["missing"], 0);
  folder.run.settings.cases = {{{"prompt_tokens", 8}}, {{"prompt_tokens", 32}}};
  EXPECT_EQ(json_of(figures_document(folder))["missing"], 1);
}

TEST(FiguresDocument, IsOfFoldersWhoseNamesAreNoText) {
  ResultsFolder folder = two_points();
  folder.source = "results/\xff";
  EXPECT_EQ(json_of(figures_document(folder))["source"], "results/\\xff");
}

TEST(FiguresDocument, RefusesPointsWithoutAPlaceAndUnknownPlaceholders) {
  const auto refusal = [](const ResultsFolder& folder) -> std::string {
    try {
      (void)figures_document(folder);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  ResultsFolder folder = two_points();
  folder.records[0].settings.requested.erase("prompt_tokens");
  EXPECT_NE(refusal(folder).find("null for \"settings.requested.prompt_tokens\""),
            std::string::npos)
      << refusal(folder);
  folder = two_points();
  folder.run.plots[0].title = "{head} heads";
  EXPECT_NE(refusal(folder).find("did you mean \"heads\""), std::string::npos) << refusal(folder);
}

}  // namespace
}  // namespace reprise::results
