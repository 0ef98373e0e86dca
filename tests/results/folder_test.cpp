#include "results/folder.h"

#include <gtest/gtest.h>

#include "tests/results/sample_record.h"

namespace reprise::results {
namespace {

// A folder with one record, measured with the settings `measured`, of a sweep over `axes`.
ResultsFolder folder_of(const Fields& measured, const std::map<std::string, Values>& axes) {
  ResultsFolder folder;
  Record record = sample_record("p", "g", 0, 1);
  record.settings.requested = measured;
  record.settings.requested["dtype"] = "f32";
  record.settings.requested["method"] = "paged";
  folder.records = {std::move(record)};
  folder.run.settings.axes = axes;
  folder.run.settings.dtypes = {"f32"};
  folder.run.settings.methods = {{.name = "paged"}};
  return folder;
}

// All combinations of the five axes' values would be 200^5 places.
TEST(MissingPoints, AreThoseOfTheCases) {
  std::map<std::string, Values> axes = {{"batch", {1, 2}}};
  std::vector<Fields> cases;
  for (int i = 0; i < 200; ++i) {
    Fields one;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      one[name] = i;
      axes[name].emplace_back(i);
    }
    cases.push_back(one);
  }
  Fields measured = cases[7];
  measured["batch"] = 2;
  ResultsFolder folder = folder_of(measured, axes);
  folder.run.settings.cases = cases;
  const std::vector<MissingPoints> missing = missing_points(folder);
  ASSERT_EQ(missing.size(), 399u);
  EXPECT_EQ(missing[0].label, "f32 a=0 b=0 batch=1 c=0 d=0 e=0");
  EXPECT_EQ(missing[15].label, "f32 a=8 b=8 batch=1 c=8 d=8 e=8");
}

TEST(MissingPoints, AreOfTheModelThatTheirCaseNames) {
  ResultsFolder folder =
      folder_of({{"model", "m"}, {"weights", "random"}, {"batch", 1}}, {{"batch", {1, 2}}});
  folder.run.settings.models = {{.model = "m", .weights = "random"},
                                {.model = "n", .weights = "random"}};
  folder.run.settings.cases = {{{"model", "m"}, {"batch", 1}}, {{"model", "n"}, {"batch", 2}}};
  const std::vector<MissingPoints> missing = missing_points(folder);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].label, "n f32 batch=2");
}

TEST(MissingPoints, AreOfTheWeightsThatTheirLabelNames) {
  ResultsFolder folder = folder_of({{"model", "m"}, {"weights", "random"}}, {});
  folder.run.settings.models = {{.model = "m", .weights = "random"},
                                {.model = "m", .weights = "checkpoint"}};
  const std::vector<MissingPoints> missing = missing_points(folder);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].label, "m checkpoint f32");
}

// The labels are those of the runner, with the axes in the order of the kind.
TEST(MissingPoints, AreNoSkippedPoints) {
  ResultsFolder folder = folder_of({{"completion_tokens", 1}, {"context_tokens", 1}},
                                   {{"completion_tokens", {1, 2}}, {"context_tokens", {1, 32768}}});
  for (const char* label : {"f32 context_tokens=32768 completion_tokens=1",
                            "f32 context_tokens=32768 completion_tokens=2"})
    folder.skipped.push_back({.point = label, .label = label, .method = "paged"});
  const std::vector<MissingPoints> missing = missing_points(folder);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].label, "f32 completion_tokens=2 context_tokens=1");
}

}  // namespace
}  // namespace reprise::results
