// Tests options of sources: their ranges, options that a source does not take, and options that
// exclude each other.
#include "workloads/serving/source_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/workloads/serving/sample_sources.h"

namespace reprise::workloads {
namespace {

using model::expect_error;
using model::TempDir;

void refused(const std::string& name, SourceOptions options,
             std::initializer_list<std::string> parts) {
  options.vocab = 100;
  options.tokenizer = sample_tokenizer;
  expect_error([&] { (void)make_request_source(name, options); }, parts);
}

TEST(SourceOptions, EveryFieldIsOfASourceAndEverySourceKnowsItsFields) {
  std::set<std::string_view> fields, taken;
  for (const SourceField& field : source_fields()) {
    EXPECT_TRUE(fields.insert(field.name).second) << field.name << " twice";
    EXPECT_FALSE(field.help.empty());
  }
  for (const SourceInfo& info : known_request_sources())
    for (const std::string_view field : info.fields) {
      EXPECT_TRUE(fields.contains(field)) << info.name << ": " << field;
      taken.insert(field);
    }
  EXPECT_EQ(fields, taken);
}

// Sets each field to another value in each source that does not take it.
TEST(SourceOptions, WhatASourceDoesNotTakeIsRefused) {
  const TempDir dir;
  for (const SampleSource& sample : sample_sources(dir, 100)) {
    const std::vector<SourceInfo> known = known_request_sources();
    const auto info = std::find_if(known.begin(), known.end(), [&](const SourceInfo& each) {
      return each.name == sample.name;
    });
    for (const SourceField& field : source_fields()) {
      if (info->takes(field.name)) continue;
      SourceOptions options = sample.options;
      std::visit(
          [&](auto member) {
            if constexpr (std::is_same_v<decltype(member), std::string SourceOptions::*>)
              options.*member = "else";
            else
              options.*member += 1;
          },
          field.member);
      refused(sample.name, options, {sample.name, "takes no", std::string(field.name), "it is of"});
    }
  }
}

TEST(SourceOptions, RangesAreTold) {
  const SourceOptions good{.requests = 3, .user_tokens = 2, .output_tokens = 2};
  SourceOptions options = good;
  options.user_tokens = -1;
  refused("grid", options, {"user_tokens is -1", "from 0 to 16777216"});
  options = good;
  options.shared_tokens = kMostTokens + 1;
  refused("grid", options, {"shared_tokens", "16777217"});
  options = good;
  options.order = "shufled";
  refused("grid", options, {"order", "did you mean \"shuffled\""});
  for (const double bad : {-0.5, std::nan(""), std::numeric_limits<double>::infinity()})
    refused("groups",
            {.requests = 1,
             .shared_tokens = 1,
             .user_tokens = 1,
             .output_tokens = 1,
             .zipf_exponent = bad},
            {"zipf_exponent", "from 0 to 10"});
}

TEST(SourceOptions, WhatIsMissingOrDoesNotGoTogetherIsTold) {
  refused("grid", {.user_tokens = 2, .output_tokens = 2}, {"grid", "needs requests"});
  refused("grid", {.requests = 2, .user_tokens = 2}, {"needs output_tokens"});
  refused("grid", {.requests = 2, .output_tokens = 2}, {"prompt_tokens", "or user_tokens"});
  refused("grid", {.requests = 2, .prompt_tokens = 4, .user_tokens = 2, .output_tokens = 2},
          {"not both", "4 and 2"});
  refused("grid", {.requests = 2, .prompt_tokens = 4, .shared_tokens = 5, .output_tokens = 2},
          {"shared_tokens is 5", "more than prompt_tokens"});
  refused("groups", {.requests = 2, .user_tokens = 2, .output_tokens = 2}, {"needs shared_tokens"});
  refused("groups",
          {.requests = 2,
           .shared_tokens = 1,
           .user_tokens = 5,
           .user_tokens_most = 4,
           .output_tokens = 2},
          {"user_tokens_most is 4, below user_tokens"});
  refused("tree",
          {.requests = 2,
           .shared_tokens = 1,
           .user_tokens = 5,
           .output_tokens = 2,
           .groups = 1000,
           .few_shots = 1000,
           .documents = 1000},
          {"groups * few_shots * documents"});
  refused("recombined",
          {.requests = 2,
           .user_tokens = 5,
           .output_tokens = 2,
           .documents = 3,
           .document_tokens = 4,
           .picks = 4},
          {"picks is 4, more than documents, which is 3"});
  refused("conversations", {.user_tokens = 2, .output_tokens = 2, .turns = 2},
          {"needs a file or conversations"});
  refused("conversations",
          {.user_tokens = 10'000'000, .output_tokens = 1, .conversations = 1, .turns = 2},
          {"more than 16777216", "fewer turns"});
  refused("azure", {}, {"azure", "needs a file"});
  refused("grid", {.file = "x.csv"}, {"takes no file", "x.csv"});
}

TEST(SourceOptions, ConversationsAreMadeUpOrRead) {
  const TempDir dir;
  const auto file = dir.write("talk.json", kShareGpt);
  refused("conversations", {.file = file, .turns = 2}, {"turns is of conversations", "talk.json"});
  refused("conversations", {.file = file, .output_tokens = 2}, {"output_tokens"});
}

}  // namespace
}  // namespace reprise::workloads
