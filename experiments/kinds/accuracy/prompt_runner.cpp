#include "experiments/kinds/accuracy/prompt_runner.h"

#include <utility>

#include "core/base/error.h"
#include "core/reuse/block_per_sequence.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {
namespace {

engine::EngineOptions engine_options(const RunnerOptions& options,
                                     std::shared_ptr<prompt_cache::ModuleImports> imports) {
  engine::EngineOptions out;
  out.limits.max_sequence_tokens = options.max_sequence_tokens;
  out.kv_dtype = options.kv_dtype;
  out.step_tokens = options.step_tokens;
  // Copies the imported states to a device, where they are needed.
  out.policy = std::make_shared<prompt_cache::ReadyLayers>(imports);
  out.contributors = {std::move(imports)};
  return out;
}

// Keeps the imports of a request attached while it runs.
class Attached {
 public:
  Attached(prompt_cache::ModuleImports& imports, engine::RequestId id,
           const prompt_cache::PreparedPrompt& prompt)
      : imports_(imports), id_(id) {
    imports_.attach(id, prompt.runs);
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() { imports_.detach(id_); }

 private:
  prompt_cache::ModuleImports& imports_;
  engine::RequestId id_;
};

}  // namespace

PromptRunner::PromptRunner(const Context& context, model::Decoder& decoder,
                           const RunnerOptions& options)
    : imports_(std::make_shared<prompt_cache::ModuleImports>()),
      stop_ids_(options.stop_ids),
      engine_(context, decoder, std::make_unique<reuse::ContiguousCache>(),
              engine_options(options, imports_)) {}

engine::Request PromptRunner::request(const prompt_cache::PreparedPrompt& prompt, int64_t most) {
  return prompt_cache::request_of(prompt, next_id_++, static_cast<int32_t>(most));
}

Generated PromptRunner::generate(const prompt_cache::PreparedPrompt& prompt, int64_t most,
                                 std::shared_ptr<const engine::TokenRules> rules,
                                 const std::function<bool(int32_t)>& is_last) {
  engine::Request request = this->request(prompt, most);
  request.sampling.rules = std::move(rules);
  request.stop_ids = stop_ids_;
  const engine::RequestId id = request.id;
  const Attached attached(*imports_, id, prompt);
  Generated out;
  bool is_done = false;
  const int64_t begin_ns = now_ns();
  engine_.submit(std::move(request));
  while (engine_.has_work()) {
    const engine::StepReport report = engine_.step();
    engine::require_served(report.events);
    for (const engine::TokenEvent& event : report.events) {
      if (!event.has_token() || is_done) continue;
      if (out.tokens.empty()) out.first_token_ms = ms_of(event.time_ns - begin_ns);
      out.tokens.push_back(event.token);
      is_done = is_last(event.token);
      if (is_done && event.finish == engine::FinishReason::kNone) engine_.cancel(id);
    }
  }
  return out;
}

std::vector<float> PromptRunner::forced(const prompt_cache::PreparedPrompt& prompt,
                                        std::span<const int32_t> tokens) {
  REPRISE_CHECK(!tokens.empty());
  engine::Request request = this->request(prompt, 0);
  const auto first_row = static_cast<int32_t>(request.prompt.size()) - 1;
  // The last token is left out of the prompt, since the logits from which it is drawn do not depend
  // on it.
  auto position = static_cast<int32_t>(engine::prompt_end(request));
  for (const int32_t token : tokens.first(tokens.size() - 1)) {
    request.prompt.push_back(token);
    request.positions.push_back(position++);
  }
  request.logits = engine::LogitsMode::kAll;
  std::vector<float> logits;
  engine_.observe_logits([&](const engine::LogitsRow& row) {
    if (row.token >= first_row) logits.insert(logits.end(), row.logits.begin(), row.logits.end());
  });
  const Attached attached(*imports_, request.id, prompt);
  engine_.submit(std::move(request));
  engine::require_served(engine_.run());
  engine_.observe_logits({});
  return logits;
}

}  // namespace reprise::experiments
