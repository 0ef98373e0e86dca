#include "methods/prompt_cache/prompt_cache.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

#include "methods/prompt_cache/repair.h"

namespace reprise::prompt_cache {
namespace {

// A stopwatch: each call returns the seconds since the call before it, or since construction.
class Lap {
 public:
  double operator()() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void append(std::span<const int32_t> tokens, int64_t first, PlacedTokens& placed) {
  placed.tokens.insert(placed.tokens.end(), tokens.begin(), tokens.end());
  const size_t begin = placed.positions.size();
  placed.positions.resize(begin + tokens.size());
  std::iota(placed.positions.begin() + static_cast<std::ptrdiff_t>(begin), placed.positions.end(),
            static_cast<int32_t>(first));
}

}  // namespace

PreparedPrompt prepare(ModuleStates& states, model::Decoder& decoder,
                       const pml::CompiledPrompt& prompt, const PrepareOptions& options,
                       const Context& context) {
  PreparedPrompt out;
  Lap lap;
  EncodeReport encoded;
  out.runs = states.import(prompt, &encoded);
  const bool counts_imports = states.schema().rules != pml::Rules::kAsCoded ||
                              decoder.config().position == model::PositionScheme::kAlibi;
  for (const StateRun& run : out.runs) {
    out.imported_tokens += run.tokens;
    if (counts_imports)
      out.least_length = std::max(out.least_length, run.first_position + run.tokens);
  }
  for (const pml::NewRun& run : prompt.new_runs) append(run.tokens, run.first, out.fresh);
  out.times.encode_s = encoded.compute_s;
  out.times.lookup_s = lap() - encoded.compute_s;
  out.unwritten = encoded.unwritten;
  if (states.mode() == Mode::kRepair) {
    Repair repair =
        repair_states(decoder, std::move(out.runs), placed_tokens(states.schema(), prompt.pieces),
                      options.repair_ratio, states.options());
    out.runs = std::move(repair.runs);
    out.repaired_tokens = repair.recomputed;
    out.private_bytes = repair.recomputed_bytes;
    out.times.repair_s = lap();
  }
  if (options.copies) {
    CopyBuffer own;
    CopiedStates copied = copy_states(out.runs, decoder.config().layers, context,
                                      options.copy_buffer == nullptr ? own : *options.copy_buffer);
    out.runs = std::move(copied.runs);
    out.copied_bytes = copied.bytes;
    out.private_bytes = copied.bytes;  // of states that were computed again, too
    out.times.copy_s = lap();
  }
  return out;
}

void place(const PreparedPrompt& prompt, engine::Request& request) {
  request.prompt = prompt.fresh.tokens;
  request.positions = prompt.fresh.positions;
  request.least_length = prompt.least_length;
  if (prompt.runs.empty()) return;
  request.shareable_tokens = 0;
  request.imported_tokens = static_cast<int32_t>(prompt.imported_tokens);
}

engine::Request request_of(const PreparedPrompt& prompt, engine::RequestId id,
                           int32_t max_new_tokens) {
  engine::Request request{.id = id, .max_new_tokens = max_new_tokens};
  place(prompt, request);
  return request;
}

PlacedTokens whole_prompt(const pml::CompiledSchema& schema, const pml::CompiledPrompt& prompt,
                          Positions positions) {
  struct Text {
    int64_t first;
    std::span<const int32_t> tokens;
  };
  std::vector<Text> texts;
  for (const int32_t index : prompt.pieces) {
    const pml::Piece& piece = schema.pieces[static_cast<size_t>(index)];
    texts.push_back({piece.first, piece.tokens});
  }
  for (const pml::NewRun& run : prompt.new_runs) texts.push_back({run.first, run.tokens});
  std::stable_sort(texts.begin(), texts.end(),
                   [](const Text& a, const Text& b) { return a.first < b.first; });
  PlacedTokens whole;
  for (const Text& text : texts) append(text.tokens, text.first, whole);
  if (positions == Positions::kCompact)
    std::iota(whole.positions.begin(), whole.positions.end(), 0);
  return whole;
}

}  // namespace reprise::prompt_cache
