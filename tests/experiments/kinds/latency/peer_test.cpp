// Tests peers as series of kind "decode". A sample peer stands for the other runtimes, which few
// machines have; it uses the same peer.py as they do.
#include "experiments/kinds/latency/peer.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <thread>

#include "core/base/error.h"
#include "experiments/kinds/latency/decode.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/environment.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using reprise::testing::EnvironmentVariable;

class PeerTest : public KindOnTinyModel {
 protected:
  Group group(const Json& changes = Json::object()) const {
    Json file = {{"kind", "decode"},
                 {"methods", {"relay_attention"}},
                 {"series", {"openvino"}},
                 {"settings",
                  {{"batch", 3}, {"prompt_tokens", 24}, {"shared_tokens", 16}, {"new_tokens", 4}}},
                 {"repetitions", 2}};
    file.merge_patch(changes);
    return group_of(file);
  }

  std::vector<Measured> measure(const std::string& behaviour) {
    const EnvironmentVariable how("REPRISE_SAMPLE_PEER", behaviour);
    DecodeKind kind(context_);
    const Group one = group();
    kind.check(one);
    return measured_json(kind.measure(one, Machine{}, stop_));
  }

  // The message of the Error that measuring throws.
  std::string failure(const std::string& behaviour) {
    try {
      (void)measure(behaviour);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  const EnvironmentVariable python_{"REPRISE_PEERS_PYTHON", REPRISE_SAMPLE_PEER_PROGRAM};
};

TEST_F(PeerTest, TimesStandBesideOurs) {
  const std::vector<Measured> found = measure("sound");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].samples["prefill_ms"], Json({20.0, 20.0}));
  EXPECT_EQ(found[1].samples["step_ms"], Json({5.0, 5.0, 5.0, 5.0, 5.0, 5.0}));
  EXPECT_EQ(found[1].metrics["decode_tokens_per_s"]["value"], 600.0);
  EXPECT_EQ(found[1].resolved["peer"]["precision"], "none");
  EXPECT_TRUE(found[1].answers.empty()) << found[1].answers;
  const double ours_ms = found[0].samples["prefill_ms"][1].get<double>();
  EXPECT_NEAR(found[1].samples["prefill_over_first"][1].get<double>(), 20 / ours_ms, 1e-9);
  EXPECT_EQ(found[1].samples["step_over_first"].size(), 2u);
  EXPECT_FALSE(found[0].metrics.contains("step_over_first"));
  EXPECT_EQ(found[0].answers["equal_token_ratio"], 1.0);
}

TEST_F(PeerTest, NothingIsTakenAgainBesideThem) {
  // Two threads take turns on one core, so that one of them always waits and each sample is
  // disturbed.
  std::atomic<bool> stops = false;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(sched_getcpu(), &core);
  std::array<std::thread, 2> busy;
  for (std::thread& one : busy)
    one = std::thread([&] {
      sched_setaffinity(0, sizeof core, &core);
      while (!stops) {
      }
    });
  std::vector<Measured> found;
  EXPECT_NO_THROW(found = measure("sound"));
  stops = true;
  for (std::thread& one : busy) one.join();
  ASSERT_EQ(found.size(), 2u);
  for (const Measured& side : found) {
    if (side.core_use["disturbed"] == 0)
      GTEST_SKIP() << "this kernel does not say how long threads wait";
    EXPECT_EQ(side.core_use["retaken"], 0);
  }
}

TEST_F(PeerTest, FailuresNameThePeerAndItsReason) {
  EXPECT_EQ(failure("unable"), "openvino: no room for 28 tokens");
  EXPECT_NE(failure("error").find("openvino cannot compute a batch of 3: ValueError: 3 prompts"),
            std::string::npos);
  EXPECT_NE(failure("crash").find("the model is broken"), std::string::npos);
  EXPECT_NE(failure("short").find("generated 9 tokens instead of 4 for each of 3 prompts"),
            std::string::npos);
}

TEST_F(PeerTest, WhatIsMissingIsSaidWithItsRemedy) {
  const DecodeKind kind(context_);
  const EnvironmentVariable how("REPRISE_SAMPLE_PEER", "missing");
  const std::string reason = kind.missing({.name = "llama_cpp"});
  EXPECT_NE(reason.find("cannot import peer_of_no_library"), std::string::npos) << reason;
  EXPECT_NE(reason.find("-m pip install none"), std::string::npos) << reason;
  EXPECT_EQ(kind.missing({.name = "paged"}), "");
  {
    const EnvironmentVariable sound("REPRISE_SAMPLE_PEER", "sound");
    EXPECT_EQ(kind.missing({.name = "llama_cpp"}), "");
  }
  const EnvironmentVariable nowhere("REPRISE_PEERS_PYTHON", "/nowhere/python");
  EXPECT_NE(kind.missing({.name = "llama_cpp"}).find("REPRISE_PEERS_PYTHON"), std::string::npos);
}

TEST_F(PeerTest, WhatPeersCannotComputeIsRefused) {
  const auto refusal = [&](const Json& changes) -> std::string {
    DecodeKind kind(context_);
    try {
      kind.check(group(changes));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal(Json::object()), "");
  EXPECT_NE(refusal({{"compared_with", "series"}}).find("openvino comes first"), std::string::npos);
  EXPECT_NE(refusal({{"dtypes", {"f16"}}}).find("peers compute f32 and bf16"), std::string::npos);
  EXPECT_NE(refusal({{"models", {dir_.string()}}}).find("random weights"), std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"shared_tokens", 100}}}}).find("shared_tokens is 100"),
            std::string::npos);
}

TEST_F(PeerTest, EachPeerNeedsTheMemoryOfAModel) {
  DecodeKind kind(context_);
  const MemoryNeed with = kind.memory_need(group());
  const MemoryNeed without = kind.memory_need(without_peers(group()));
  EXPECT_GT(with.bytes, 1.5 * without.bytes);
  EXPECT_NE(with.of_what.find("for each peer"), std::string::npos);
}

}  // namespace
}  // namespace reprise::experiments
