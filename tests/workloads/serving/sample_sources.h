// Small options for every source of requests, with the files that they read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "workloads/serving/registry.h"

namespace reprise::workloads {

// A source with a vocabulary of 32000 tokens, unless the options name another.
inline std::unique_ptr<RequestSource> make_sample(const std::string& name, SourceOptions options) {
  if (options.vocab == 0) options.vocab = 32000;
  return make_request_source(name, options);
}

// The number of equal leading tokens.
inline int64_t common_prefix(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

struct SampleSource {
  std::string name;
  SourceOptions options;
};

inline std::shared_ptr<const Tokenizer> sample_tokenizer() {
  static const std::shared_ptr<const Tokenizer> kTokenizer =
      load_tokenizer(std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart");
  return kTokenizer;
}

// Conversations "a", "b" and "d" make requests. Of the first turns, the rule of sharegpt drops two.
inline constexpr const char* kShareGpt = R"([
  {"id": "a", "conversations": [{"from": "human", "value": "Tell me a story about a red fox, please."},
    {"from": "gpt", "value": "Once upon a time there was a fox in a wood."},
    {"from": "human", "value": "What did the fox do?"}, {"from": "gpt", "value": "It slept all day [long]."}]},
  {"id": "b", "conversations": [{"from": "human", "value": "Tell me a story about a red hen, please."},
    {"from": "gpt", "value": "There was a hen \"with\" an egg, {and} one day it went away."}]},
  {"id": "c", "conversations": [{"from": "human", "value": "Nobody answers this question."}]},
  {"id": "d", "extra": null, "conversations": [{"from": "system", "value": ""},
    {"from": "human", "value": "Tell me a story about the sea and a boat."},
    {"from": "gpt", "value": "The sea was blue and the boat was white."},
    {"from": "human", "value": "And then?"}, {"from": "gpt", "value": "Then it rained."},
    {"from": "human", "value": "Go on."}, {"from": "gpt", "value": ""}]},
  {"id": "e", "conversations": []}
])";

inline constexpr const char* kAzure =
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,37,4\n"
    "2023-11-16 18:15:46.6805900,12,9\n"
    "2023-11-16 18:15:50.9951690,1,1\n"
    "2023-11-16T18:16:01Z,20,3\n"
    "2023-11-16 19:16:02.5+01:00,90,300";

// Six requests with blocks of 512 tokens. The second and the fourth share leading blocks with the
// first, and the last has the same blocks as the first.
inline constexpr const char* kMooncake =
    R"({"timestamp": 0, "input_length": 1200, "output_length": 5, "hash_ids": [0, 1, 2]})"
    "\n"
    R"({"timestamp": 0, "input_length": 1030, "output_length": 7, "hash_ids": [0, 1, 3]})"
    "\n"
    R"({"timestamp": 27, "input_length": 513, "output_length": 1, "hash_ids": [4, 5]})"
    "\n"
    R"({"timestamp": 30, "input_length": 1536, "output_length": 900, "hash_ids": [0, 1, 6]})"
    "\n"
    R"({"timestamp": 4000, "input_length": 40, "output_length": 2, "hash_ids": [7]})"
    "\n"
    R"({"timestamp": 4001, "input_length": 1200, "output_length": 2, "hash_ids": [0, 1, 2]})"
    "\n";

// Requests with blocks of 16 tokens and with ids beyond 32 bits. Chat 8 follows chat 5, and chat 9
// follows chat 8; chat 7 follows a chat that is not in the file.
inline constexpr const char* kBailian =
    R"({"chat_id": 5, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 40, "output_length": 6, "type": "text", "turn": 1, "hash_ids": [90000000000, 7, 8]})"
    "\n"
    R"({"chat_id": 6, "parent_chat_id": -1, "timestamp": 1.25, "input_length": 33, "output_length": 2, "type": "search", "turn": 1, "hash_ids": [90000000001, 7, 8]})"
    "\n"
    R"({"chat_id": 7, "parent_chat_id": 3, "timestamp": 1.25, "input_length": 16, "output_length": 1, "type": "file", "turn": 2, "hash_ids": [90000000001]})"
    "\n"
    R"({"chat_id": 8, "parent_chat_id": 5, "timestamp": 2, "input_length": 64, "output_length": 9, "type": "text", "turn": 2, "hash_ids": [90000000000, 7, 9, 10]})"
    "\n"
    R"({"chat_id": 9, "parent_chat_id": 8, "timestamp": 61.114, "input_length": 70, "output_length": 3, "type": "text", "turn": 3, "hash_ids": [90000000000, 7, 9, 10, 11]})"
    "\n";

// A conversation with blocks of 4 tokens. Between its second and third request, two subagents run
// at the same time; the duration of each ends with its last answer. Its fourth request generates
// nothing.
inline constexpr const char* kWeka = R"({"id": "a", "models": ["m"], "block_size": 4,
  "hash_id_scope": "local", "requests": [
  {"t": 0, "type": "n", "in": 9, "out": 3, "hash_ids": [1, 2], "api_time": 2, "think_time": 0},
  {"t": 10, "type": "s", "in": 12, "out": 4, "hash_ids": [1, 2, 3], "api_time": 5, "think_time": 8.5},
  {"t": 37, "type": "subagent", "duration_ms": 20000, "requests": [
    {"t": 0, "type": "n", "in": 6, "out": 2, "hash_ids": [7], "api_time": 4, "think_time": 0},
    {"t": 6, "type": "n", "in": 8, "out": 1, "hash_ids": [7, 8], "api_time": 14, "think_time": 2}]},
  {"t": 46, "type": "subagent", "duration_ms": 31000, "requests": [
    {"t": 0, "type": "n", "in": 7, "out": 2, "hash_ids": [7], "api_time": 31, "think_time": 0}]},
  {"t": 50, "type": "n", "in": 18, "out": 6, "hash_ids": [1, 2, 3, 4], "think_time": 35},
  {"t": 60, "type": "n", "in": 20, "out": 0, "hash_ids": [1, 2, 3, 4, 5], "think_time": 1},
  {"t": 65, "type": "n", "in": 21, "out": 6, "hash_ids": [1, 2, 3, 4, 5], "think_time": 2}]})";
inline constexpr const char* kWekaSecond =
    R"({"id": "b", "block_size": 4, "requests": [{"type": "n", "in": 8, "out": 1, "hash_ids": [1, 2]}]})";

inline constexpr const char* kAgenticCoding =
    R"({"conversation_id": "x", "turn": 1, "role": "user", "content": "Mend it.", "system": "Be brief.", "tools": [{"name": "sh"}]})"
    "\n"
    R"({"conversation_id": "x", "turn": 2, "role": "assistant", "reasoning_content": "Look first.", "tool_calls": [{"id": "1"}]})"
    "\n"
    R"({"conversation_id": "x", "turn": 3, "role": "tool", "tool_results": [{"tool_call_id": "1", "content": "a file"}, {"tool_call_id": "2", "content": "no"}], "delay_seconds": 0.25})"
    "\n"
    R"({"conversation_id": "x", "turn": 4, "role": "assistant", "content": "Done."})"
    "\n"
    R"({"conversation_id": "y", "turn": 1, "role": "user", "content": "Hello", "delay_seconds": 1})"
    "\n"
    R"({"conversation_id": "y", "turn": 2, "role": "assistant", "content": "Hi!"})"
    "\n"
    R"({"conversation_id": "y", "turn": 3, "role": "user", "content": "Bye"})"
    "\n";

// The header line is that of release 2. The third request failed.
inline constexpr const char* kBurstGpt =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,a1,2.5,ChatGPT,47,18,65,Conversation log\n"
    "45.5,,1,GPT-4,108,23,131,API log\n"
    "46,,0,ChatGPT,17,0,17,API log\n"
    "118,a1,3,GPT-4,41,27,68,Conversation log\n";

inline constexpr const char* kServeGenTrace =
    "0,2.5,1.2,Gamma,0.7,0.5\n600,0,0,,0,0\n1200,1,2,Weibull,0.6,0.9\n";
inline constexpr const char* kServeGenLengths =
    R"({"0": {"input_tokens": "{4: 0.5, 9: 0.25, 30: 0.25}", "output_tokens": "{1: 1.0}"},
        "1200": {"input_tokens": "{7: 1}", "output_tokens": "{2: 0.5, 3: 0.5}"}})";

inline constexpr size_t kMmluQuestions = 14042;  // of the test split

// A list of `entries` token counts as mmlu_lengths reads them. The counts rise by 1 from `first` to
// `most`, and then begin at `first` again.
inline std::string mmlu_counts(size_t entries, size_t first, size_t most = 9) {
  std::string list = "[";
  for (size_t n = 0; n < entries; ++n)
    list += (n == 0 ? "" : ", ") + std::to_string(first + n % (most + 1 - first));
  return list + "]";
}

// Every source at least once. Made-up tokens are from [0, vocab): the smaller `vocab` is, the more
// prompts begin alike by chance.
inline std::vector<SampleSource> sample_sources(const model::TempDir& dir, int64_t vocab) {
  std::vector<SampleSource> samples;
  const auto add = [&](const std::string& name, SourceOptions options) {
    options.vocab = vocab;
    options.tokenizer = sample_tokenizer;
    samples.push_back({.name = name, .options = std::move(options)});
  };
  add("grid", {.requests = 30, .prompt_tokens = 12, .shared_tokens = 8, .output_tokens = 3});
  add("grid", {.requests = 30, .prompt_tokens = 5, .shared_tokens = 5, .output_tokens = 3});
  add("grid", {.requests = 30, .user_tokens = 3, .output_tokens = 3});
  add("groups", {.requests = 60,
                 .shared_tokens = 6,
                 .user_tokens = 1,
                 .user_tokens_most = 5,
                 .output_tokens = 2,
                 .output_tokens_most = 8,
                 .groups = 4,
                 .zipf_exponent = 1.1});
  add("tree", {.requests = 60,
               .shared_tokens = 5,
               .user_tokens = 2,
               .output_tokens = 2,
               .groups = 2,
               .few_shots = 3,
               .few_shot_tokens = 4,
               .documents = 2,
               .document_tokens = 3});
  add("recombined", {.requests = 40,
                     .user_tokens = 1,
                     .user_tokens_most = 4,
                     .output_tokens = 2,
                     .zipf_exponent = 0.5,
                     .documents = 6,
                     .document_tokens = 5,
                     .picks = 3,
                     .novelty = 0.6});
  add("conversations", {.shared_tokens = 4,
                        .user_tokens = 1,
                        .user_tokens_most = 4,
                        .output_tokens = 2,
                        .conversations = 9,
                        .turns = 1,
                        .turns_most = 5,
                        .under_way = 3});
  const auto text = dir.write("sharegpt.json", kShareGpt);
  add("conversations", {.file = text});
  add("conversations", {.file = text, .shared_tokens = 3});
  add("sharegpt", {.file = text});
  add("sharegpt", {.file = text, .shared_tokens = 7});
  add("sharegpt", {.file = dir.write("pairs.csv", "42,285\n19,82\n3,9\n63,482\n1024,1024\n4,4\n"),
                   .shared_tokens = 5,
                   .length_divisor = 8});
  add("lengths", {.file = dir.write("lengths.csv", "in,out,sum\r\n7,2,9\r\n1,1,2\r\n30,4,34\r\n")});
  dir.write("art_dev.csv", "One?,a,b,c,d,C\n\"Two, or\n2?\",e,f,g,h,A\n");
  dir.write("art_test.csv", "Three?,i,j,k,l,D\nThree or four?,m,n,o,p,B\n");
  dir.write("bees_dev.csv", "Who?,a,b,c,d,A\nWhat?,a,b,c,d,B\n");
  dir.write("bees_test.csv", "Where?,a,b,c,d,A\nWhen?,a,b,c,d,A\n");
  add("mmlu", {.file = dir.path(), .shots = 2});
  add("mmlu", {.file = dir.path(), .subjects = "bees", .shots = 0});
  dir.write("mmlu_5shotprefix_stat.json", mmlu_counts(57, 5));
  dir.write("mmlu_prompt_stat.json", mmlu_counts(kMmluQuestions, 2));
  add("mmlu_lengths", {.file = dir.path(), .requests = 60, .question_template = "vllm_ra"});
  add("mmlu_lengths", {.file = dir.path(),
                       .requests = 20,
                       .subjects = "virology,anatomy",
                       .question_template = "vllm_ra"});
  dir.write("prompts-a.txt", "You are a helpful fox. Tell short stories, please.");
  add("system_prompts",
      {.file = dir.write("prompts-b.md", "You are a helpful hen. Tell the truth."),
       .requests = 20,
       .user_tokens = 3,
       .output_tokens = 2});
  add("system_prompts", {.file = dir.path(),
                         .requests = 60,
                         .user_tokens = 1,
                         .user_tokens_most = 6,
                         .output_tokens = 2,
                         .zipf_exponent = 1.0});
  const auto azure = dir.write("azure.csv", kAzure);
  add("azure", {.file = azure});
  add("azure", {.file = azure, .shared_tokens = 6, .most_prompt_tokens = 15, .too_long = "cut"});
  const auto mooncake = dir.write("mooncake.jsonl", kMooncake);
  add("burstgpt", {.file = dir.write("burstgpt.csv", kBurstGpt)});
  add("bailian", {.file = dir.write("bailian.jsonl", kBailian)});
  add("bailian", {.file = dir.write("bailian.jsonl", kBailian), .length_divisor = 5});
  add("weka", {.file = dir.write("weka.json", kWeka)});
  add("weka", {.file = dir.write("weka.json", kWeka), .length_divisor = 3});
  const auto agentic = dir.write("agentic.jsonl", kAgenticCoding);
  add("agentic_coding", {.file = agentic});
  add("agentic_coding", {.file = agentic, .shared_tokens = 3, .under_way = 1});
  add("mooncake", {.file = mooncake});
  add("mooncake", {.file = mooncake, .length_divisor = 100});
  add("mooncake", {.file = mooncake, .most_prompt_tokens = 1100, .too_long = "cut"});
  dir.write("a-dataset.json", kServeGenLengths);
  add("servegen", {.file = dir.write("a-trace.csv", kServeGenTrace), .requests = 80});
  return samples;
}

// The requests of a source, in their order.
inline std::vector<ServingRequest> requests_of(const RequestSource& source) {
  std::vector<ServingRequest> requests;
  for (int64_t i = 0; i < source.size(); ++i) requests.push_back(source.request(i));
  return requests;
}

}  // namespace reprise::workloads
