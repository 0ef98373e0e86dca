// Runs `--device cuda` as a user does, on the emulated device: refusals before anything is
// measured, and whole runs up to the record.
#include <cstdlib>
#include <fstream>

#include "results/store.h"
#include "tests/app/command_line.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> shipped_experiments() {
  const fs::path folder = fs::path(REPRISE_SOURCE_DIR) / "experiments";
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json")
      names.push_back(fs::relative(entry.path(), folder).replace_extension("").string());
  return names;
}

TEST_F(CommandLine, ShippedExperimentsAreAcceptedForADevice) {
  const std::vector<std::string> names = shipped_experiments();
  ASSERT_GT(names.size(), 40u);
  for (const std::string& name : names) {
    if (name == "chunk_attention/reduction") continue;  // runs on the CPU alone
    const Outcome outcome = reprise({"run", name, "--scale", "smoke", "--device", "cuda", "--set",
                                     "kv_dtype=f16", "--dry-run"});
    EXPECT_EQ(outcome.status, 0) << name << ": " << outcome.err;
  }
}

TEST_F(CommandLine, WhatADeviceCannotDoIsRefusedBeforeAnythingIsMeasured) {
  for (const char* name :
       {"quickstart", "shared_prefix/exactness", "serving/tree", "prompt_cache/recall_repair"})
    expect_refused(
        {"run", name, "--scale", "smoke", "--device", "cuda", "--set", "dtypes=f32", "--dry-run"},
        {"a KV cache of f32 on device cuda", "--set kv_dtype=f16", "--device cpu"});
  expect_refused({"run", "chunk_attention/reduction", "--device", "cuda", "--dry-run"},
                 {"direct_reduction on device cuda", "leave the option out", "--device cpu"});
}

// If such settings were not refused, a server would start and then could not serve a single
// request.
TEST_F(CommandLine, CommandsRefuseWhatADeviceCannotDoBeforeTheyLoadAModel) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"serve", "--port", "0"},
           {"generate", "--ids", "1"},
           {"logits", "--ids", "1", "--out", (dir_ / "logits").string()},
           {"pml", "run", "schema.xml", "prompt.xml"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--model", model(), "--random-weights", "--device", "cuda"});
    expect_refused(words, {"a KV cache of f32 on device cuda", "--kv-dtype f16"});
    words.insert(words.end(), {"--kv-dtype", "f16", "--method", "chunk_attention",
                               "--method-options", R"({"direct_reduction": true})"});
    expect_refused(words,
                   {"direct_reduction on device cuda", "leave the option out", "--device cpu"});
  }
}

TEST_F(CommandLine, ExperimentsRunOnADevice) {
  int runs = 0;
  const auto run = [&](const Json& given) {
    Json file = {{"name", "t"},
                 {"title", "t"},
                 {"models", {{{"model", "quickstart"}, {"weights", "random"}}}},
                 {"dtypes", {"bf16"}},
                 {"repetitions", 1},
                 {"warmup", 0}};
    file.update(given);
    const fs::path path = dir_ / "t.json", out = dir_ / std::to_string(++runs);
    std::ofstream(path) << file;
    const Outcome outcome =
        reprise({"run", path.string(), "--device", "cuda", "--out", out.string()});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(json_of(read_json(out / "run.json"))["identity"]["machine"]["gpu"],
              "NVIDIA H100 on a CPU (9.0, 4 SMs, 1 GiB)");
    std::vector<Json> records = results::lines_of(results::read_records(out));
    for (const Json& record : records) {
      EXPECT_EQ(record["settings"]["resolved"].value("device", "cuda"), "cuda");
      EXPECT_EQ(record["machine"]["device"]["name"], "emulated on the CPU");
    }
    return records;
  };
  const auto ttft =
      run({{"kind", "ttft"},
           {"methods", {"contiguous", "prompt_cache"}},
           {"settings", {{"prompt_tokens", 8}, {"fresh_tokens", 2}, {"new_tokens", 2}}}});
  ASSERT_EQ(ttft.size(), 2u);
  EXPECT_EQ(ttft[0]["answers"]["tokens_hash"], ttft[1]["answers"]["tokens_hash"]);
  const auto coded = run(
      {{"kind", "ttft"},
       {"models", {{{"model", "quickstart"}, {"weights", "random"}, {"weight_format", "int4"}}}},
       {"methods", {"contiguous", "prompt_cache"}},
       {"settings", {{"prompt_tokens", 8}, {"fresh_tokens", 2}, {"new_tokens", 2}}}});
  ASSERT_EQ(coded.size(), 2u);
  EXPECT_EQ(coded[0]["answers"]["tokens_hash"], coded[1]["answers"]["tokens_hash"]);
  EXPECT_LT(coded[0]["settings"]["resolved"]["weight_bytes"],
            ttft[0]["settings"]["resolved"]["weight_bytes"]);
  // Modules that nobody copied to the device would be zeros.
  const auto accuracy =
      run({{"kind", "accuracy"},
           {"models", {"models/recall/llama"}},
           {"series", {"baseline", "joint", "scaffold"}},
           {"workload", {{"name", "questions"}, {"file", "models/recall/items.jsonl"}}},
           {"settings", {{"items", 1}, {"scaffold", "all"}}},
           {"metrics", {"mean_kl"}}});
  ASSERT_EQ(accuracy.size(), 3u);
  for (size_t m = 1; m < 3; ++m) EXPECT_LT(accuracy[m]["metrics"]["mean_kl"]["value"], 0.01);
  const auto prefill =
      run({{"kind", "prefill"},
           {"methods",
            {"compute",
             {{"name", "attn_cache"}, {"options", {{"preset", "raw"}, {"threshold", 0.999}}}}}},
           {"settings", {{"prompt_tokens", 8}, {"asked_texts", 1}, {"database_texts", 1}}}});
  ASSERT_EQ(prefill.size(), 2u);
  EXPECT_EQ(prefill[1]["metrics"]["hit_rate"]["value"], 1);
}

// The emulated device has 1 GiB of memory; the host has more.
TEST_F(CommandLine, PointsThatADeviceHasNoRoomForAreLeftOut) {
  const Json file = {{"name", "t"},
                     {"title", "t"},
                     {"kind", "attention"},
                     {"dtypes", {"bf16"}},
                     {"methods", {"contiguous", "paged"}},
                     {"settings",
                      {{"heads", 32},
                       {"kv_heads", 32},
                       {"head_dim", 128},
                       {"prompt_tokens", 4},
                       {"completion_tokens", 1}}},
                     {"sweep", {{"batch", {1, 4096}}}},  // keys and values take 16 KiB a token
                     {"repetitions", 1},
                     {"warmup", 0}};
  const fs::path path = dir_ / "t.json", out = dir_ / "out";
  std::ofstream(path) << file;
  const Outcome outcome =
      reprise({"run", path.string(), "--device", "cuda", "--out", out.string()});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_NE((outcome.out + outcome.err).find("GiB are available"), std::string::npos)
      << outcome.out << outcome.err;
  const std::vector<Json> records = results::lines_of(results::read_records(out));
  EXPECT_EQ(records.size(), 2u);
  for (const Json& record : records) EXPECT_EQ(record["settings"]["requested"]["batch"], 1);
}

// By default, half of the device's 1 GiB is for keys and values. One sequence takes 0.63 GiB.
TEST_F(CommandLine, AServersKeysAndValuesGetHalfOfTheDevicesMemory) {
  const fs::path shipped = fs::path(REPRISE_SOURCE_DIR) / "models" / "quickstart";
  Json config = read_json(shipped / "config.json");
  config["max_position_embeddings"] = 1 << 18;
  std::ofstream(dir_ / "model" / "config.json") << config;
  fs::copy_file(shipped / "tokenizer.model", dir_ / "model" / "tokenizer.model");
  expect_refused(on_model("serve", {"--dtype", "bf16", "--max-tokens", "262144", "--device", "cuda",
                                    "--port", "0"}),
                 {"one sequence of 262144 tokens"});
}

TEST_F(CommandLine, ACheckNamesTheDevice) {
  const std::string program = (dir_ / "program").string(), json = (dir_ / "check.json").string();
  std::ofstream(program) << R"(#!/bin/sh
case "$*" in
*list_tests*) echo Fixed ;;
*) echo '{"benchmarks": [{"name": "Fixed", "real_time": 2, "cpu_time": 2, "time_unit": "ms"}]}' ;;
esac
)";
  fs::permissions(program, fs::perms::owner_all);
  setenv("TMPDIR", dir_.c_str(), /*overwrite=*/1);  // where the check's lock lies
  const Outcome outcome = reprise({"check", program, "--against", program, "--budget", "0.1",
                                   "--calibration", "4", "--device", "cuda", "--json", json});
  unsetenv("TMPDIR");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json_of(read_json(json))["machine"]["device"]["name"], "emulated on the CPU");
}

}  // namespace
}  // namespace reprise::app
