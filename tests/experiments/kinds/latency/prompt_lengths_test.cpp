// Tests lengths of prompts that are given in tokens or by the name of a data set.
#include "experiments/kinds/latency/prompt_lengths.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "experiments/kinds/latency/ttft.h"
#include "experiments/kinds/shared/costs.h"
#include "results/data_dir.h"
#include "results/paper_numbers.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"
#include "workloads/longbench/latency_sets.h"

namespace reprise::experiments {
namespace {

class PromptLengths : public KindOnTinyModel {
 protected:
  Group group(const Json& settings) const {
    return group_of({{"kind", "ttft"},
                     {"methods", {"contiguous", "prompt_cache"}},
                     {"settings", settings},
                     {"repetitions", 2}});
  }
  TtftAxes lengths(const Json& settings) const {
    return with_lengths(group(settings).axes_as<TtftAxes>());
  }
  std::string refusal(const Json& settings) const {
    try {
      (void)lengths(settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(PromptLengths, ADataSetStandsForPromptAndFreshTokens) {
  const int64_t fresh = workloads::longbench::find_latency_set("triviaqa").fresh_tokens();
  const TtftAxes one = lengths({{"dataset", "triviaqa"}});
  EXPECT_EQ(one.prompt_tokens, 3500 + fresh);
  EXPECT_EQ(one.shared_tokens, 3500);
  EXPECT_EQ(one.fresh_tokens, fresh);
  EXPECT_EQ(lengths({{"dataset", "qmsum"}, {"context_limit", 64}}).shared_tokens, 64);
}

TEST_F(PromptLengths, WithoutADataSetTheyAreAsSaid) {
  const TtftAxes one = lengths({{"prompt_tokens", 40}, {"fresh_tokens", 5}});
  EXPECT_EQ(one.prompt_tokens, 40);
  EXPECT_EQ(one.shared_tokens, 35);
  Fields resolved;
  add_lengths(one, resolved);
  EXPECT_TRUE(resolved.empty());
}

TEST_F(PromptLengths, WhatIsSaidTwiceOrReadByNobodyIsRefused) {
  EXPECT_NE(refusal({{"dataset", "samsum"}, {"prompt_tokens", 9}}).find("leave prompt_tokens out"),
            std::string::npos);
  EXPECT_NE(refusal({{"dataset", "samsum"}, {"fresh_tokens", 9}}).find("leave fresh_tokens out"),
            std::string::npos);
  EXPECT_NE(refusal({{"dataset", "samsum"}, {"shared_tokens", 9}}).find("leave shared_tokens out"),
            std::string::npos);
  EXPECT_NE(refusal({{"context_limit", 64}}).find("name one with dataset"), std::string::npos);
  EXPECT_NE(refusal({{"dataset", "samsun"}}).find("did you mean \"samsum\""), std::string::npos);
  EXPECT_EQ(refusal({{"dataset", "samsum"}}), "");
}

TEST_F(PromptLengths, AreWhatIsMeasuredAndWhatARecordSays) {
  TtftKind kind(context_);
  const Group one = group({{"dataset", "gov_report"}, {"context_limit", 32}});
  kind.check(one);
  EXPECT_EQ(kind.memory_need(one).bytes, memory_of_model(Bench::config(one), DType::kF32,
                                                         DType::kF32, (32 + 6 + 1) + 32 + (6 + 1))
                                             .bytes)
      << "the prompt in one cache; the dataset's context as a module, and the rest in another";
  for (const Measured& method : measured_json(kind.measure(one, Machine(), stop_))) {
    EXPECT_EQ(method.resolved["prompt_tokens"], 32 + 6);
    EXPECT_EQ(method.resolved["shared_tokens"], 32);
    EXPECT_EQ(method.resolved["fresh_tokens"], 6);
    const Json& metrics = method.metrics;
    const double requests = metrics["prompt_tokens_total"]["value"].get<double>() / (32 + 6);
    EXPECT_EQ(requests, std::floor(requests));
    EXPECT_EQ(method.answers["equal_token_ratio"], 1.0) << "one module in front is a prefix";
  }
}

TEST_F(PromptLengths, TheShippedFigureCanBeRunAndHasThePapersNumbersAtItsLengths) {
  const auto path = results::data_dir() / "experiments" / "prompt_cache" / "fig3_fig4.json";
  for (const char* scale : {"smoke", "desk", "paper"}) {
    const Experiment experiment = load_experiment(path, scale, {}, known_vocabulary());
    for (const Group& one : expand(experiment, {.context = context_, .device = Device::kCpu})) {
      EXPECT_NO_THROW(TtftKind(context_).check(one)) << scale << " " << one.label;
      if (one.axes_as<TtftAxes>().context_limit != 3500) continue;
      const model::ModelConfig config = Bench::config(one);
      const Fields shape = {{"type", config.model_type},
                            {"layers", config.layers},
                            {"hidden", config.hidden},
                            {"heads", config.heads},
                            {"kv_heads", config.kv_heads}};
      for (const std::string& name : experiment.paper_numbers)
        for (Fields point : one.requested) {
          point["model_shape"] = shape;
          // The authors' times are those of Llama 2 7B that computes everything, or copies the
          // modules.
          const Json asked = json_of(point);
          const bool is_theirs =
              config.name == "llama-2-7b" &&
              (asked["method"] == "contiguous" || asked["method_options"].value("copies", false));
          EXPECT_EQ(results::load_paper_numbers(name).at(point).contains("ttft_ms"), is_theirs)
              << name << " beside " << one.label << " " << asked["method_options"];
        }
    }
  }
}

}  // namespace
}  // namespace reprise::experiments
