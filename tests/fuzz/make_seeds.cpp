// Writes the seeds with which the fuzzers begin: make_seeds FOLDER makes FOLDER/NAME for each
// target. Seeds are made from the tree's own files and from small valid examples, so none is
// committed.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>

#include "core/base/json.h"
#include "core/store/segment_file.h"
#include "core/tokenizer/tokenizer.h"
#include "results/results_file.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/sentence/sentence_testing.h"
#include "tests/core/store/segment_testing.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;
using namespace reprise;

const fs::path kTree = REPRISE_SOURCE_DIR;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& bytes) {
    if (fuzz::is_canary(bytes)) return;  // a rig must find one by itself
    fs::create_directories(folder_ / target);
    std::ofstream(folder_ / target / ("seed_" + std::to_string(count_++)), std::ios::binary)
        << bytes;
  }
  // Adds every file below `folder` whose name has this ending, except large files.
  void add_files(const std::string& target, const fs::path& folder, const std::string& ending) {
    constexpr uintmax_t kMostBytes = 64 << 10;
    for (const auto& entry : fs::recursive_directory_iterator(kTree / folder))
      if (entry.is_regular_file() && entry.path().string().ends_with(ending) &&
          entry.file_size() <= kMostBytes)
        add(target, read_file(entry.path()));
  }

 private:
  fs::path folder_;
  int count_ = 0;
};

// Adds one record of each file of measurements, with the entry of its run.
void add_records(Seeds& seeds) {
  for (const auto& entry : fs::directory_iterator(kTree / "results/measurements")) {
    if (!entry.path().string().ends_with(".jsonl.gz")) continue;
    std::istringstream lines(results::read_results_file(entry.path()));
    std::string text, line;
    for (int i = 0; i < 2 && std::getline(lines, line); ++i) text += line + "\n";
    if (text.size() < (32 << 10)) seeds.add("record", text);
  }
}

void add_models(Seeds& seeds) {
  seeds.add("safetensors", model::safetensors_of(model::tiny_llama_tensors()));
  seeds.add("safetensors", model::safetensors_of({}, 3));
  seeds.add_files("config", "models", ".json");
  for (const char* scaling :
       {R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64,
            "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 0.7})",
        R"({"type": "longrope", "original_max_position_embeddings": 16,
            "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 4, 8]})",
        R"({"type": "dynamic", "factor": 2.0})",
        R"({"type": "mrope", "mrope_section": [1, 1, 2]})"}) {
    Json config = model::tiny_llama_config();
    config["head_dim"] = 8;
    config["rope_scaling"] = Json::parse(scaling);
    seeds.add("config", config.dump());
  }
  for (const Json& json :
       {tokenizer::llama_json(), tokenizer::byte_level_json(), tokenizer::bert_json()})
    seeds.add("tokenizer_json", json.dump());
  seeds.add("tokenizer_json", sentence::bert_tokenizer_json());
  seeds.add("sentence_piece", read_file(kTree / "models/quickstart/tokenizer.model"));
}

void add_pml(Seeds& seeds) {
  const fs::path folder = kTree / "experiments/prompt_cache/pml";
  for (const char* name : {"code", "personal", "travel"})
    seeds.add("pml", read_file(folder / (std::string(name) + ".schema.xml")) + '\0' +
                         read_file(folder / (std::string(name) + ".prompt.xml")));
  seeds.add("pml", std::string(R"(<schema name="s"><system>be brief</system><user part="open"/>
<union scaffold="a"><module name="a">x<param name="p" len="3" scaffold="q"/></module>
<module name="b" cache="false">y<gap len="2"/><module name="c">z</module></module></union>
<scaffold modules=". a"/></schema>)") +
                       '\0' +
                       R"(<prompt schema="s"><a p="v"/> then <user part="close"/></prompt>)");
}

void add_segments(Seeds& seeds, const fs::path& scratch) {
  for (const kv::SegmentForm form : {kv::SegmentForm::kPlain, kv::SegmentForm::kInt8}) {
    const kv::SegmentBuffer segment = kv::finite_segment_of(1);
    kv::write_segment(scratch, {{.model = "m"}, "a"}, segment, {.form = form});
    seeds.add("segment", read_file(scratch));
  }
  fs::remove(scratch);
}

void add_traces(Seeds& seeds) {
  const auto add = [&](char kind, const std::string& text) { seeds.add("traces", kind + text); };
  add(0, R"({"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [0, 1]}
{"timestamp": 30, "input_length": 600, "output_length": 9, "hash_ids": [0, 2]}
)");
  add(1,
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
      "2023-11-16 18:15:50.9951690,396,109\n");
  add(2, "prompt,response\n10,20\n30,40\n");
  const std::string talk = R"([{"id": "a", "conversations": [{"from": "human", "value": "Hi there"},
{"from": "gpt", "value": "Once upon a time there was"}, {"from": "human", "value": "and then?"},
{"from": "gpt", "value": "the end of it all, he said"}]}])";
  add(3, talk);
  add(4, "10,20\n300,40\n");
  add(5, talk);
  add(6, R"({"chat_id": 5, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 20, )"
         R"("output_length": 6, "type": "text", "turn": 1, "hash_ids": [90000000000, 7]})");
  add(7, "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,47,18\n");
  add(8, R"({"block_size": 4, "hash_id_scope": "local", "requests": [
{"t": 0, "type": "n", "in": 9, "out": 3, "hash_ids": [1, 2], "api_time": 2, "think_time": 0},
{"t": 37, "type": "subagent", "duration_ms": 20000, "requests": [
  {"t": 0, "type": "s", "in": 6, "out": 2, "hash_ids": [7], "api_time": 4}]},
{"t": 50, "type": "n", "in": 18, "out": 6, "hash_ids": [1, 2, 3, 4], "think_time": 35}]})");
  add(9,
      R"({"conversation_id": "x", "turn": 1, "role": "user", "content": "a", "system": "b", "tools": []}
{"conversation_id": "x", "turn": 2, "role": "assistant", "reasoning_content": "c", "tool_calls": []}
{"conversation_id": "x", "turn": 3, "role": "tool", "tool_results": [{"content": "d"}], "delay_seconds": 1}
{"conversation_id": "x", "turn": 4, "role": "assistant", "content": "e"}
)");
}

void add_http(Seeds& seeds) {
  seeds.add("http_request",
            "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            "Content-Length: 42\r\n\r\n{\"prompt\": [1, 5], \"max_tokens\": 2, \"n\":1}");
  seeds.add("http_request",
            "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n30\r\n{\"messages\": [{\"role\": \"user\", "
            "\"content\": \"a\"}]}\r\n0\r\n\r\n");
  seeds.add("http_request",
            "{\"prompt\": \"a\", \"max_tokens\": 2, \"stop\": [\"b\"], \"temperature\": 0.5, "
            "\"seed\": 1, "
            "\"stream\": true, \"logprobs\": 1}");
  seeds.add("http_request",
            "GET /v1/models HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
            "GET /health HTTP/1.0\r\n\r\n");
}

void add_replies(Seeds& seeds) {
  seeds.add("sse_reply",
            "\x05"
            "data: {\"choices\": [{\"text\": \"a\", \"token_ids\": [5]}]}\n\ndata: {\"choices\": "
            "[{\"text\": \"b\", \"logprobs\": {\"tokens\": [\"b\"]}, \"finish_reason\": "
            "\"length\"}], \"usage\": {\"completion_tokens\": 2, \"prompt_tokens\": 3, "
            "\"prompt_tokens_details\": {\"cached_tokens\": 1}}}\n\ndata: [DONE]\n\n");
  seeds.add("sse_reply",
            "\x09: comment\r\nevent: message\r\ndata: {\"choices\": [{\"text\": \"\"}], "
            "\"timings\": {\"predicted_n\": 3}}\r\n\r\ndata: [DONE]\r\n\r\n");
  seeds.add("sse_reply", "\x01{\"error\": {\"message\": \"busy\", \"code\": 429}}");
}

// Random numbers of two bytes; the first one chooses the kernel.
void add_kernels(Seeds& seeds) {
  std::mt19937_64 random(2);
  for (char kernel = 0; kernel < 16; ++kernel)
    for (int i = 0; i < 2; ++i) {
      std::string bytes = {0, kernel};
      while (bytes.size() < 400) bytes += static_cast<char>(random());
      seeds.add("kernels", bytes);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "make_seeds FOLDER\n";
    return 1;
  }
  Seeds seeds(argv[1]);
  add_models(seeds);
  add_pml(seeds);
  add_records(seeds);
  seeds.add_files("experiment", "experiments", ".json");
  add_segments(seeds, fs::path(argv[1]) / "scratch");
  add_traces(seeds);
  add_http(seeds);
  add_replies(seeds);
  add_kernels(seeds);
  return 0;
}
