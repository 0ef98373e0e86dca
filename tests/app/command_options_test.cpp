// Tests which values and names on the command line are refused, and with which remedy.
#include <fstream>

#include "tests/app/command_line.h"

namespace reprise::app {
namespace {

using Options = CommandLine;

TEST_F(Options, NumbersThatMakeNoSenseAreRefusedWithTheirRange) {
  struct Wrong {
    const char* option;
    std::vector<const char*> values;
    const char* range;
  };
  const std::vector<const char*> no_count = {
      "0", "-1", "-3", "1.5", "nan", "inf", "010", "1e3", "99999999999999999999", "x", ""};
  const std::vector<const char*> no_seed = {"-1", "9223372036854775808", "1.5", "nan", "01", ""};
  for (const Wrong& wrong :
       std::vector<Wrong>{{"--threads", no_count, "1 to 4096"},
                          {"--max-new-tokens", no_count, "1 to 16777216"},
                          {"--prefill-chunk", no_count, "1 to 1048576"},
                          {"--top-k", {"-1", "2147483648", "nan"}, "0 to 2147483647"},
                          {"--temperature", {"nan", "inf", "-1", "100.5", ""}, "0 to 100"},
                          {"--top-p", {"0", "2", "-0.5", "nan", "inf"}, "above 0, at most 1"},
                          {"--seed", no_seed, "0 to 9223372036854775807"},
                          {"--weights-seed", no_seed, "0 to 9223372036854775807"}})
    for (const char* value : wrong.values)
      expect_refused(on_model("generate", {"--ids", "1", wrong.option, value}),
                     {wrong.option, fmt::format("\"{}\"", value), wrong.range});
  for (const char* value : no_count) {
    expect_refused(on_model("logits", {"--ids", "1", "--out", "x", "--chunk", value}),
                   {"--chunk", "1 to 1048576"});
    expect_refused({"probe", "--threads", value}, {"--threads", "1 to 4096"});
    expect_refused({"run", "quickstart", "--threads", value}, {"--threads", "1 to 4096"});
  }
}

TEST_F(Options, TopKAndTopPNeedATemperature) {
  for (const auto& [option, value] : {std::pair{"--top-k", "40"}, {"--top-p", "0.9"}}) {
    expect_refused(on_model("generate", {"--ids", "1", option, value}),
                   {fmt::format("{} requires --temperature", option)});
    const Outcome greedy = reprise(on_model(
        "generate", {"--ids", "1", "--max-new-tokens", "1", "--temperature", "0", option, value}));
    EXPECT_EQ(greedy.status, 0) << greedy.err;
  }
}

TEST_F(Options, EmptyNamesAndPathsAreRefused) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"run", "quickstart", "--out", ""},
           {"run", ""},
           {"run", "quickstart", "--scale", ""},
           {"run", "quickstart", "--shard", ""},
           {"plot", ""},
           {"list", ""},
           {"tokenize", "--tokenizer", ""},
           {"probe", "--isa", ""},
           {"probe", "--device", ""},
           {"generate", "--model", "", "--ids", "1"},
           {"logits", "--model", model(), "--ids", "1", "--out", ""}})
    expect_refused(command, {"empty"});
  for (const char* option :
       {"--method", "--method-options", "--prompt", "--prompt-file", "--ids-file", "--stop"})
    expect_refused(on_model("generate", {"--ids", "1", option, ""}), {option, "empty"});
  for (const char* option : {"--dtype", "--kv-dtype"})
    for (const char* name : {"", "f8"})
      expect_refused(on_model("generate", {"--ids", "1", option, name}),
                     {option, fmt::format("\"{}\"", name), "f32, bf16 or f16"});
  for (const char* name : {"", "int3"})
    expect_refused(on_model("generate", {"--ids", "1", "--weight-format", name}),
                   {"--weight-format", fmt::format("\"{}\"", name), "nf4-double"});
  // CLI11 by itself would take --no-plot as the value of the empty --out.
  expect_refused({"run", "quickstart", "--out=", "--no-plot"}, {"--out is empty"});
}

TEST_F(Options, MistypedOptionsGetTheNearest) {
  expect_refused({"probe", "--treads", "3"}, {"unknown option \"--treads\"", "\"--threads\"?"});
  expect_refused({"run", "quickstart", "--sacle=desk"}, {"\"--sacle\"", "\"--scale\"?"});
  expect_refused({"generate", "--modle", "x"}, {"\"--modle\"", "\"--model\"?"});
  expect_refused({"probe", "-threads", "3"}, {"\"-threads\"", "\"--threads\"?"});
  expect_refused({"--verson"}, {"\"--verson\"", "\"--version\"?"});
  expect_refused({"generat"}, {"unknown command \"generat\"", "\"generate\"?"});
  expect_refused({"plot", "a", "b"}, {"b"});
  // A missing required option is still reported as such.
  expect_refused({"generate"}, {"--model is required"});
}

TEST_F(Options, AMetricOnRequestThatIsNotAskedForIsRefusedBeforeTheFirstPoint) {
  expect_refused({"run", "shared_prefix/crossover", "--scale", "smoke", "--no-plot", "--metrics",
                  "latency_us,shared_us"},
                 {"--metrics latency_us,shared_us: shared_us", "measured only on request",
                  "--set metrics=latency_us,speedup,", ",shared_us"});
  EXPECT_EQ(reprise({"run", "shared_prefix/crossover", "--scale", "smoke", "--no-plot", "--dry-run",
                     "--set", "metrics=shared_us", "--metrics", "shared_us"})
                .status,
            0);
}

TEST_F(Options, BatchInvarianceIsRefusedToMethodsThatCannotKeepIt) {
  for (const auto& [method, reason] : {std::pair{"chunk_attention", "once for all of them"},
                                       {"relay_attention", "--method auto"},
                                       {"prompt_cache", "more than a cache"}})
    for (const char* command : {"generate", "logits"}) {
      std::vector<std::string> more = {"--ids", "1,2", "--batch-invariant", "--method", method};
      if (command == std::string("logits")) more.insert(more.end(), {"--out", "x"});
      expect_refused(on_model(command, more),
                     {fmt::format("method \"{}\" cannot be --batch-invariant", method), reason});
    }
  expect_refused(on_model("generate", {"--ids", "1", "--batch-invariant", "--method", "paged",
                                       "--method-options", R"({"version": 2})"}),
                 {"partitions", "\"version\": 2"});
  expect_refused(on_model("serve", {"--batch-invariant", "--system-prompt-file", "prompt.txt"}),
                 {"prompt.txt", "--batch-invariant", "leave it out"});
  expect_refused(on_model("logits", {"--ids", "1,2,3", "--positions", "0,1,5", "--batch-invariant",
                                     "--out", "x"}),
                 {"--positions are not consecutive", "leave --batch-invariant out"});
}

TEST_F(Options, ScoresOfItemsHaveNoMeansByLength) {
  expect_refused({"longbench", "score", "--items", "--lengths", "trec.jsonl"},
                 {"--items", "--lengths"});
}

TEST_F(Options, EachMistakeInAListOfIdsIsNamedWithItsPlace) {
  const auto refused = [&](const char* ids, const std::vector<std::string>& parts) {
    expect_refused(on_model("generate", {"--ids", ids}), parts);
    expect_refused(on_model("logits", {"--out", "x", "--ids", ids}), parts);
  };
  refused("", {"--ids is empty"});
  refused(" ", {"--ids is empty"});
  refused("1,,2", {"--ids, entry 2 is empty"});
  refused("1,2,", {"--ids, entry 3 is empty"});
  refused(",1", {"--ids, entry 1 is empty"});
  refused("1,010", {"--ids, entry 2", "\"010\"", "decimal"});
  refused("0x10", {"--ids, entry 1", "\"0x10\""});
  refused("1,+2", {"--ids, entry 2", "\"+2\"", "sign"});
  refused("-1", {"--ids, entry 1", "\"-1\""});
  refused("3,1.5", {"--ids, entry 2", "\"1.5\""});
  refused("3,4294967297", {"--ids, entry 2", "\"4294967297\"", "2147483647"});
  refused("3,255,256", {"--ids, entry 3", "token id 256", "vocabulary of 256", "0 to 255"});
  expect_refused(on_model("logits", {"--out", "x", "--ids", "1,2", "--positions", "0,01"}),
                 {"--positions, entry 2", "\"01\""});
  expect_refused(on_model("logits", {"--out", "x", "--ids", "1", "--positions", ""}),
                 {"--positions has 0"});
}

TEST_F(Options, IdsComeFromAFileOrStandardInput) {
  std::ofstream(dir_ / "ids") << "5 6\n7,\t8 ,9\n";
  const Outcome listed = reprise(on_model("generate", {"--ids", "5,6,7,8,9"}));
  ASSERT_EQ(listed.status, 0) << listed.err;
  const Outcome from_file = reprise(on_model("generate", {"--ids-file", (dir_ / "ids").string()}));
  EXPECT_EQ(from_file.status, 0) << from_file.err;
  EXPECT_EQ(from_file.out, listed.out);
  const Outcome from_input = reprise(on_model("generate", {"--ids-file", "-"}), "5\n6 7 8,9");
  EXPECT_EQ(from_input.status, 0) << from_input.err;
  EXPECT_EQ(from_input.out, listed.out);
  expect_refused(on_model("generate", {"--ids", "1", "--ids-file", "-"}),
                 {"one of --ids", "--ids-file"});
  expect_refused(on_model("generate", {"--ids-file", "-"}), {"--ids-file - is empty"});
  expect_refused(on_model("generate", {"--ids-file", "/nowhere"}), {"/nowhere"});
}

}  // namespace
}  // namespace reprise::app
