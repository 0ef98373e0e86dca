// Runs `generate`, `logits` and `run` on models with quantized weights, as a user does.
#include <fstream>
#include <limits>
#include <map>
#include <regex>

#include "core/base/json.h"
#include "results/store.h"
#include "tests/app/command_line.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

constexpr const char* kFormats[] = {"int8", "int4", "nf4", "nf4-double"};

class WeightFormats : public CommandLine {
 protected:
  // The size of the weights that the summary of a command prints.
  static double weights_mib(const Outcome& outcome) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(outcome.err, found, std::regex("weights ([0-9.]+) MiB")))
        << outcome.err;
    return found.empty() ? 0.0 : std::stod(found[1]);
  }
};

TEST_F(WeightFormats, GenerateSpeaksInEachFormatAndTellsWhatTheWeightsTake) {
  const std::vector<std::string> command = {"generate", "--model",          "quickstart",
                                            "--prompt", "Once upon",        "--dtype",
                                            "bf16",     "--max-new-tokens", "12"};
  const Outcome plain = reprise(command);
  ASSERT_EQ(plain.status, 0) << plain.err;
  std::map<std::string, double> mib;
  for (const char* format : kFormats) {
    std::vector<std::string> in_format = command;
    in_format.insert(in_format.end(), {"--weight-format", format});
    const Outcome outcome = reprise(in_format);
    ASSERT_EQ(outcome.status, 0) << format << ": " << outcome.err;
    EXPECT_GT(outcome.out.size(), 12u) << format;
    EXPECT_NE(outcome.err.find(fmt::format("weights in {}, ", format)), std::string::npos)
        << outcome.err;
    mib[format] = weights_mib(outcome);
    const Outcome logits =
        reprise({"logits", "--model", "quickstart", "--dtype", "bf16", "--ids", "3,4", "--out",
                 (dir_ / "logits").string(), "--weight-format", format});
    ASSERT_EQ(logits.status, 0) << format << ": " << logits.err;
    EXPECT_EQ(weights_mib(logits), mib[format]) << format;
  }
  EXPECT_LT(mib["int8"], weights_mib(plain));
  EXPECT_LT(mib["nf4"], mib["int8"]);
  EXPECT_LT(mib["int4"], mib["int8"]);
  EXPECT_LT(mib["nf4-double"], mib["nf4"]);
}

TEST_F(WeightFormats, RunMeasuresThemBesideEachOther) {
  Json models = Json::array({{{"model", "models/quickstart"}}});
  for (const char* format : kFormats)
    models.push_back({{"model", "models/quickstart"}, {"weight_format", format}});
  const Json file = {{"name", "formats"},
                     {"title", "Formats"},
                     {"kind", "ttft"},
                     {"models", models},
                     {"dtypes", {"bf16"}},
                     {"methods", {"contiguous"}},
                     {"sweep", {{"prompt_tokens", {24}}}},
                     {"repetitions", 1},
                     {"warmup", 0}};
  std::ofstream(dir_ / "formats.json") << file.dump();
  const Outcome outcome = reprise({"run", (dir_ / "formats.json").string(), "--out",
                                   (dir_ / "out").string(), "--no-plot", "--threads", "1"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::map<std::string, int64_t> bytes;  // bytes by format; plain formats are named by their dtype
  for (const Json& record : results::lines_of(results::read_records(dir_ / "out"))) {
    const Json& requested = record["settings"]["requested"];
    const Json& resolved = record["settings"]["resolved"];
    const std::string held = resolved["weight_format"];
    const std::string asked = requested["weight_format"];
    EXPECT_EQ(asked, held == "bf16" ? "plain" : held);
    EXPECT_GT(record["metrics"]["ttft_ms"]["value"].get<double>(), 0.0) << held;
    bytes[held] = resolved["weight_bytes"];
    EXPECT_NE(outcome.out.find(asked), std::string::npos) << outcome.out;
  }
  ASSERT_EQ(bytes.size(), 5u);
  EXPECT_LT(bytes["int8"], bytes["bf16"]);
  EXPECT_LT(bytes["int4"], bytes["int8"]);
  EXPECT_LT(bytes["nf4-double"], bytes["nf4"]);
  EXPECT_LT(bytes["nf4"], bytes["int8"]);
}

TEST_F(WeightFormats, OneThatTheDtypeIsNotMultipliedWithIsRefused) {
  expect_refused({"generate", "--model", "quickstart", "--ids", "3", "--dtype", "bf16",
                  "--weight-format", "f32"},
                 {"f32", "bf16", "int4"});
  expect_refused({"generate", "--model", "quickstart", "--ids", "3", "--weight-format", "int3"},
                 {"--weight-format", "\"int3\"", "int4"});
}

TEST_F(WeightFormats, AnInfiniteWeightIsRefusedWithAFormatThatTheDtypeTakes) {
  const model::TempDir folder;
  std::vector<model::TestTensor> tensors = model::tiny_llama_tensors();
  ASSERT_EQ(tensors[2].name, "model.layers.0.self_attn.q_proj.weight");
  tensors[2].first = std::numeric_limits<float>::infinity();
  folder.write("config.json", model::tiny_llama_config().dump());
  folder.write("model.safetensors", model::safetensors_of(tensors));
  for (const std::string dtype : {"f32", "bf16"})
    expect_refused({"generate", "--model", folder.path().string(), "--ids", "3", "--dtype", dtype,
                    "--weight-format", "int8"},
                   {"row 0, column 0 is inf, for which int8 has no code",
                    fmt::format("store the weights in {} (--weight-format", dtype)});
}

}  // namespace
}  // namespace reprise::app
