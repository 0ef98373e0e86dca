// Helpers for the tests of Prompt Cache: schemas whose words are token ids, and prompts that run
// through an engine with their imports.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/store/segment_store.h"
#include "methods/prompt_cache/prompt_cache.h"
#include "methods/registry.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/run_model.h"

namespace reprise::prompt_cache {

using reprise::testing::max_difference;

// An encoder that reads numbers as token ids. The placeholder is token 3.
inline pml::TextEncoder id_encoder() {
  pml::TextEncoder encoder = pml::word_encoder();
  encoder.placeholder = 3;
  return encoder;
}

inline std::string ids_text(const std::vector<int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

// `count` ids below 97 that depend on `seed`.
inline std::vector<int32_t> some_ids(int32_t count, int32_t seed) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((5 + 31 * seed + i * (7 + seed) + i * i) % 97);
  return ids;
}

inline std::string module_text(const std::string& name, const std::vector<int32_t>& ids) {
  return fmt::format("<module name=\"{}\">{}</module>", name, ids_text(ids));
}

// A schema with three modules, a parameter in the second, and a gap behind it.
inline std::string three_modules() {
  return "<schema name=\"s\">" + ids_text(some_ids(3, 1)) + module_text("a", some_ids(11, 2)) +
         "<module name=\"b\">" + ids_text(some_ids(5, 3)) + "<param name=\"x\" len=\"4\"/>" +
         ids_text(some_ids(6, 4)) + "</module><gap len=\"3\"/>" + module_text("c", some_ids(9, 5)) +
         "<scaffold modules=\". a b c\"/></schema>";
}
inline const std::string kPrompt =
    "<prompt schema=\"s\"><a/><b x=\"51 52 53\"/><c/>61 62 63 64</prompt>";

// The result of a request: logits [new tokens, vocab] of the prompt's tokens and of all generated
// tokens except the last, and the generated tokens.
struct Outcome {
  std::vector<float> logits;
  std::vector<int32_t> tokens;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct RunOptions {
  std::string method = "contiguous";
  Json method_options = Json::object();
  int32_t step_tokens = 512;
  DType kv_dtype = DType::kF32;
  int32_t max_new_tokens = 4;
  std::vector<int32_t> prefix;  // the declared prefix with which each request begins
};

// Runs all prompts in one batch, as requests 1, 2, ...; `imports` contributes to the plans.
inline std::vector<Outcome> run_prompts(model::Decoder& decoder,
                                        const std::vector<PreparedPrompt>& prompts,
                                        const RunOptions& options,
                                        const std::shared_ptr<ModuleImports>& imports) {
  engine::EngineOptions engine_options{
      .kv_dtype = options.kv_dtype, .step_tokens = options.step_tokens, .contributors = {imports}};
  if (decoder.runtime() != nullptr) engine_options.policy = std::make_shared<ReadyLayers>(imports);
  const auto prefix_tokens = static_cast<int32_t>(options.prefix.size());
  engine_options.limits = {.max_batch = static_cast<int32_t>(prompts.size()),
                           .max_sequence_tokens = 512,
                           .prefix_tokens = prefix_tokens};
  engine::Engine engine(Context::machine(), decoder,
                        methods::make_cache(options.method, options.method_options),
                        engine_options);
  if (prefix_tokens > 0) {
    engine.declare_prefix("system", options.prefix);
    engine::require_served(engine.run());
  }
  std::map<engine::RequestId, Outcome> outcomes;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    if (row.token < prefix_tokens) return;
    std::vector<float>& logits = outcomes[row.request].logits;
    logits.insert(logits.end(), row.logits.begin(), row.logits.end());
  });
  for (size_t i = 0; i < prompts.size(); ++i) {
    engine::Request request =
        request_of(prompts[i], static_cast<engine::RequestId>(i) + 1, options.max_new_tokens);
    request.prompt.insert(request.prompt.begin(), options.prefix.begin(), options.prefix.end());
    const std::vector<int32_t> head = testing::counted(prefix_tokens);
    request.positions.insert(request.positions.begin(), head.begin(), head.end());
    request.logits = prefix_tokens > 0 ? engine::LogitsMode::kDrawn : engine::LogitsMode::kAll;
    imports->attach(request.id, prompts[i].runs);
    engine.submit(std::move(request));
  }
  const std::vector<engine::TokenEvent> events = engine.run();
  engine::require_served(events);
  for (const engine::TokenEvent& event : events)
    if (event.has_token()) outcomes[event.request].tokens.push_back(event.token);
  std::vector<Outcome> out;
  for (size_t i = 0; i < prompts.size(); ++i) {
    imports->detach(static_cast<engine::RequestId>(i) + 1);
    out.push_back(std::move(outcomes[static_cast<engine::RequestId>(i) + 1]));
  }
  return out;
}

inline std::vector<Outcome> run_prompts(model::Decoder& decoder,
                                        const std::vector<PreparedPrompt>& prompts,
                                        const RunOptions& options = {}) {
  return run_prompts(decoder, prompts, options, std::make_shared<ModuleImports>());
}

// Computes all tokens at their positions, without imports.
inline Outcome run_whole(model::Decoder& decoder, const PlacedTokens& placed,
                         const RunOptions& options = {}) {
  return run_prompts(decoder, {{.fresh = placed}}, options)[0];
}

// A schema, its compiled form and the states of its modules in a store of their own.
struct Prepared {
  Prepared(model::Decoder& model, const std::string& schema_text, Mode mode,
           const EncodeOptions& encode = {},
           kv::SegmentStoreOptions store_options = {.host_bytes = int64_t{1} << 28})
      : decoder(model),
        encoder(id_encoder()),
        schema(pml::compiled(schema_text, encoder)),
        store(store_options),
        states(model, store, schema, mode, {.model = "test"}, encode) {}

  [[nodiscard]] pml::CompiledPrompt prompt(const std::string& text) const {
    return pml::compile_prompt(pml::prompt_of(text), schema, encoder);
  }
  PreparedPrompt prepare(const std::string& text, const PrepareOptions& options = {}) {
    return prompt_cache::prepare(states, decoder, prompt(text), options, Context::machine());
  }

  model::Decoder& decoder;
  pml::TextEncoder encoder;
  pml::CompiledSchema schema;
  kv::SegmentStore store;
  ModuleStates states;
};

}  // namespace reprise::prompt_cache
