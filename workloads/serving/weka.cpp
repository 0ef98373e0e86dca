// Traces of coding agents: conversations whose prompts are described by block ids, with recorded
// pauses. Several agents may work for one conversation at the same time.
//
// A file is a JSON object {id, block_size, hash_id_scope, requests}. A request is {t (s), type,
// in, out, hash_ids, api_time (s), think_time (s)} with an id for each whole block of its `in`
// tokens, and in some sets also for a partly filled last block; `out` tokens were generated. A
// request of type "subagent" holds the requests of another agent [kv-cache-tester, Weka;
// SemiAnalysis].
//
// In kv-cache-tester's files, the times of an agent within another count from its own beginning.
// The agent's `t` is the time of its answer, and duration_ms the time that it took until then. In
// files of others, all times count from the conversation's beginning, and the agent's `t` is the
// time at which it began; the conversation may go on meanwhile. In the first form no request of an
// agent is later than the agent's `t`, in the second form none is earlier.
//
// The source reads such a file, JSON Lines with one conversation a line, or a folder of both. Equal
// ids mean equal blocks only within a conversation, unless hash_id_scope is "global". An agent's
// request waits for the answer to the agent's previous request. Agents that are listed between two
// requests of an agent work for that agent: they begin at the answer to the first of the two, and
// the second waits for their last answers. In the second form of times, a request waits only for
// agents that had answered by then.
#include "workloads/serving/sources.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "workloads/json_lines.h"
#include "workloads/serving/block_prompts.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeka = "weka";

class AgentTrace final : public Entries {
 public:
  AgentTrace(int64_t block_tokens, const SourceOptions& options)
      : block_tokens_(block_tokens), prompts_(kWeka, block_tokens, options.length_divisor) {}

  // Adds a recorded request and returns its entry. `ids` has the ids of all blocks, including a
  // partly filled last block.
  int64_t add(RequestSource::Lengths recorded, std::span<const int64_t> ids,
              std::vector<int64_t> waits_for, double pause_s) {
    prompts_.add(recorded, ids);
    waits_for_.push_back(std::move(waits_for));
    pauses_s_.push_back(pause_s);
    sessions_.push_back(conversations_ - 1);
    return size() - 1;
  }
  void begin_conversation() { ++conversations_; }
  void leave_out() { ++left_out_.by_rule; }
  void finish() { prompts_.finish(); }

  [[nodiscard]] int64_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] int64_t size() const override { return prompts_.size(); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    return prompts_.lengths(entry);
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    prompts_.add_parts(entry, out);
  }
  [[nodiscard]] int64_t session(int64_t entry) const override {
    return sessions_[static_cast<size_t>(entry)];
  }
  [[nodiscard]] bool has_conversations() const override { return true; }
  [[nodiscard]] std::vector<int64_t> waits_for(int64_t entry) const override {
    return waits_for_[static_cast<size_t>(entry)];
  }
  [[nodiscard]] std::span<const double> pauses_s() const override { return pauses_s_; }
  [[nodiscard]] bool order_is_free() const override { return false; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return left_out_; }

 private:
  int64_t block_tokens_;
  BlockPrompts prompts_;
  int64_t conversations_ = 0;
  std::vector<std::vector<int64_t>> waits_for_;  // [entries]
  std::vector<double> pauses_s_;                 // [entries]
  std::vector<int64_t> sessions_;                // [entries]
  RequestSource::Dropped left_out_;
};

// A time or duration; `unit_s` is its unit in seconds.
double read_seconds(JsonObject& object, const char* key, double fallback, double unit_s = 1) {
  const double value = object.number(key, fallback);
  if (!(value >= 0) || !std::isfinite(value))
    raise("{} is {}, it must be from 0 on", object.where(key), value);
  return value * unit_s;
}

class WekaReader {
 public:
  explicit WekaReader(const SourceOptions& options) : options_(options) {}

  std::unique_ptr<Entries> read() {
    const std::vector<fs::path> files = files_of(options_.file);
    const bool is_lines = files.front().extension() == ".jsonl" && files.size() == 1;
    int64_t count = std::ssize(files);
    if (is_lines) {
      count = 0;
      for_each_line(files.front(), [&](JsonObject& line) {
        line.allow_all();
        ++count;
      });
    }
    choose(count);
    if (is_lines) {
      for_each_line(files.front(), [this](JsonObject& line) {
        line.allow_all();
        if (is_next_chosen()) read_conversation(line);
      });
    } else {
      for (const fs::path& file : files)
        if (is_next_chosen()) read_file_of_one(file);
    }
    REPRISE_CHECK(trace_ != nullptr, "{} conversations", count);
    trace_->finish();
    return std::move(trace_);
  }

 private:
  // An agent's last answers. `end_s` is the recorded time at which they were complete, in seconds
  // from the conversation's beginning.
  struct Answers {
    std::vector<int64_t> entries;
    double end_s = 0;

    void join(const Answers& others) {
      entries.insert(entries.end(), others.entries.begin(), others.entries.end());
      end_s = std::max(end_s, others.end_s);
    }
  };

  static std::vector<fs::path> files_of(const fs::path& place) {
    if (!fs::is_directory(place)) return {place};
    std::vector<fs::path> files;
    for (const fs::directory_entry& found : fs::directory_iterator(place))
      if (found.path().extension() == ".json") files.push_back(found.path());
    std::sort(files.begin(), files.end());
    if (files.empty())
      raise("{} holds no .json file; a folder of traces, one a file, is expected", place.string());
    return files;
  }

  // Draws options.conversations of the `count` conversations, or takes all if the option is 0 or
  // not smaller than `count`.
  void choose(int64_t count) {
    const int64_t wanted = options_.conversations;
    chosen_.assign(static_cast<size_t>(count), wanted == 0 || wanted >= count);
    if (chosen_.front()) return;
    for (const uint32_t number : permuted(count, wanted, options_.prompts_seed, Draw::kSample))
      chosen_[number] = true;
  }
  bool is_next_chosen() { return chosen_[next_++]; }

  void read_file_of_one(const fs::path& file) {
    const Value json = read_json(file);
    JsonObject conversation(json, file.string());
    read_conversation(conversation);
  }

  void read_conversation(JsonObject& conversation) {
    const int64_t block_tokens = conversation.integer_in("block_size", 1, kMostTokens);
    if (trace_ == nullptr) trace_ = std::make_unique<AgentTrace>(block_tokens, options_);
    if (block_tokens != trace_->block_tokens())
      raise("{} is {}, and {} in the conversations before: take those of one block size",
            conversation.where("block_size"), block_tokens, trace_->block_tokens());
    const std::string scope = conversation.string("hash_id_scope", "local");
    if (scope != "local" && scope != "global")
      raise("{} is \"{}\", it must be \"local\" or \"global\"", conversation.where("hash_id_scope"),
            scope);
    numbers_ = scope == "local" ? &local_ : &global_;
    local_.clear();
    trace_->begin_conversation();
    has_one_clock_ = has_one_clock(conversation);
    (void)read_agent(conversation, "", 0, {});
  }

  // True if the times of the conversation's agents count from the conversation's beginning.
  static bool has_one_clock(JsonObject& conversation) {
    const auto time_of = [](const Value& request) {
      const Value& t = field_of(request, "t");
      return t.is_number() ? t.number() : 0.0;
    };
    for (const Value& agent : conversation.list("requests")) {
      const Value& requests = field_of(agent, "requests");
      if (!requests.is_list() || requests.list().empty()) continue;
      if (time_of(agent) > 0) return time_of(requests.list().front()) >= time_of(agent);
    }
    return false;
  }

  // Joins to `last` the helpers that had answered by `time_s`, and removes them.
  static void join_answered(std::vector<Answers>& helpers, double time_s, Answers& last) {
    std::erase_if(helpers, [&](const Answers& helper) {
      if (helper.end_s > time_s) return false;
      last.join(helper);
      return true;
    });
  }

  // Reads an agent's requests. The first one waits for `before`. Times count from `begin_s`.
  // Returns the agent's last answers.
  Answers read_agent(JsonObject& agent, const std::string& path, double begin_s,
                     const Answers& before) {
    constexpr double kAlways = std::numeric_limits<double>::infinity();
    Answers last = before;
    std::vector<Answers> helpers;  // the last answers of agents that work for this one
    int64_t number = 0;
    for (const Value& value : agent.list("requests")) {
      const std::string place = fmt::format("{}requests[{}]", path, number++);
      JsonObject request(value, agent.source(), place);
      const std::string type = request.string("type");
      const double time_s = begin_s + read_seconds(request, "t", 0);
      if (type == "subagent") {
        const double lasted_s = read_seconds(request, "duration_ms", 0, 1e-3);
        const double inner_begin_s = has_one_clock_ ? 0 : std::max(last.end_s, time_s - lasted_s);
        helpers.push_back(read_agent(request, place + ".", inner_begin_s, last));
        continue;
      }
      if (type != "n" && type != "s")
        raise("{} is \"{}\", it must be \"n\", \"s\" (streamed) or \"subagent\"",
              request.where("type"), type);
      // With one clock, think_time counts from the last answer of any agent.
      const bool is_alone = number > 1 && helpers.empty() && !has_one_clock_;
      join_answered(helpers, has_one_clock_ ? time_s : kAlways, last);
      const double pause_s = read_seconds(request, "think_time", 0);
      const bool has_pause = is_alone && request.has("think_time");
      last = read_request(request, std::move(last),
                          has_pause ? pause_s : std::max(0.0, time_s - last.end_s));
      last.end_s = std::max(last.end_s, time_s + read_seconds(request, "api_time", 0));
    }
    join_answered(helpers, kAlways, last);
    return last;
  }

  // Adds a request that waits for the answers `before`, and returns its own answer. Leaves out a
  // request without tokens and returns `before`.
  Answers read_request(JsonObject& request, Answers before, double pause_s) {
    const int64_t prompt = request.integer_in("in", 0, kMostTokens);
    const int64_t output = request.integer_in("out", 0, kMostTokens);
    std::vector<int64_t> ids = request.integers("hash_ids");
    const int64_t whole = prompt / trace_->block_tokens();
    const bool has_rest = prompt % trace_->block_tokens() != 0;
    const bool rest_has_id = has_rest && std::ssize(ids) == whole + 1;
    if (std::ssize(ids) != whole && !rest_has_id)
      raise("{} has {} ids; {} tokens hold {} whole blocks of {}", request.where("hash_ids"),
            ids.size(), prompt, whole, trace_->block_tokens());
    require_block_ids(request.where("hash_ids"), ids);
    if (prompt == 0 || output == 0) {
      trace_->leave_out();
      return before;
    }
    for (int64_t& id : ids) {
      const auto [found, is_new] = numbers_->try_emplace(id, next_number_);
      if (is_new) ++next_number_;
      id = found->second;
    }
    // Tokens after the whole blocks are the request's own if they have no id.
    if (has_rest && !rest_has_id) ids.push_back(next_number_++);
    std::sort(before.entries.begin(), before.entries.end());
    const double end_s = before.end_s;
    return {{trace_->add({.prompt = prompt, .output = output}, ids, std::move(before.entries),
                         pause_s)},
            end_s};
  }

  const SourceOptions& options_;
  std::unique_ptr<AgentTrace> trace_;
  std::vector<bool> chosen_;  // [conversations]
  size_t next_ = 0;
  bool has_one_clock_ = false;  // of the current conversation
  // Block numbers by id: for ids of the current conversation, and for global ids.
  std::unordered_map<int64_t, int64_t> local_, global_;
  std::unordered_map<int64_t, int64_t>* numbers_ = nullptr;
  int64_t next_number_ = 0;
};

}  // namespace

SourceInfo weka_info() {
  return {.name = kWeka,
          .summary =
              "traces of coding agents: lengths, pauses, which blocks of prompts are the same, and "
              "agents that work for others",
          .file = FileUse::kNeeded,
          .fields = {"requests", "conversations", "length_divisor", "most_prompt_tokens",
                     "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_weka(const SourceOptions& options) {
  return WekaReader(options).read();
}

}  // namespace reprise::workloads::serving
