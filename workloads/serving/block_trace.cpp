#include "workloads/serving/block_trace.h"

#include "core/base/error.h"
#include "workloads/json_lines.h"

namespace reprise::workloads::serving {
namespace {

// A line's place, for messages.
struct Place {
  const JsonObject& line;
  [[nodiscard]] std::string where() const { return line.where("timestamp"); }
};

}  // namespace

BlockTrace::BlockTrace(const BlockFormat& format, const SourceOptions& options)
    : format_(format),
      prompts_(format.source, format.block_tokens, options.length_divisor),
      times_(options) {}

std::vector<int64_t> BlockTrace::ids_of(JsonObject& line, int64_t prompt) const {
  std::vector<int64_t> ids = line.integers("hash_ids");
  const int64_t blocks = prompts_.blocks_of(prompt);
  if (std::ssize(ids) != blocks)
    raise("{} has {} ids; input_length {} is {} blocks of {} tokens", line.where("hash_ids"),
          ids.size(), prompt, blocks, format_.block_tokens);
  require_block_ids(line.where("hash_ids"), ids);
  return ids;
}

void BlockTrace::read(JsonObject& line, double time_s, int64_t session) {
  const int64_t prompt = line.integer_in("input_length", 0, kMostTokens);
  const int64_t output = line.integer_in("output_length", 0, kMostTokens);
  const std::vector<int64_t> ids = ids_of(line, prompt);
  times_.next(time_s, Place{line});
  if (prompt == 0 || output == 0) {
    ++left_out_.by_rule;
    return;
  }
  prompts_.add({.prompt = prompt, .output = output}, ids);
  sessions_.push_back(session < 0 ? size() : session);
  times_s_.push_back(time_s);
}

void BlockTrace::rename_sessions(const std::function<int64_t(int64_t)>& name) {
  for (int64_t& session : sessions_) session = name(session);
}

void BlockTrace::finish() {
  prompts_.finish();
  for (double& time_s : times_s_) time_s -= times_.start_s();
  declared_blocks_ = prompts_.common_blocks();
}

std::vector<Entries::Prefix> BlockTrace::prefixes() const {
  if (declared_blocks_ == 0) return {};
  return {{.name = "system", .parts = prompts_.first_blocks(0, declared_blocks_)}};
}

std::unique_ptr<BlockTrace> read_block_trace(
    const BlockFormat& format, const SourceOptions& options,
    const std::function<void(JsonObject& line, BlockTrace& trace)>& read_line) {
  auto trace = std::make_unique<BlockTrace>(format, options);
  for_each_line(options.file, [&](JsonObject& line) { read_line(line, *trace); });
  trace->finish();
  return trace;
}

}  // namespace reprise::workloads::serving
