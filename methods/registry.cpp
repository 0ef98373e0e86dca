#include "methods/registry.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/model/network/policy_chain.h"
#include "core/reuse/block_per_sequence.h"

namespace reprise::methods {

// Defined in a generated source: one entry for each reprise_method() of the build.
std::vector<MethodEntry> listed_methods();

const std::vector<MethodEntry>& known_methods() {
  static const std::vector<MethodEntry> all = [] {
    std::vector<MethodEntry> listed = listed_methods();
    std::sort(listed.begin(), listed.end(), [](const MethodEntry& a, const MethodEntry& b) {
      return std::pair(!a.info.paper.empty(), a.info.name) <
             std::pair(!b.info.paper.empty(), b.info.name);
    });
    return listed;
  }();
  return all;
}

const MethodEntry& method_named(const std::string& name) {
  std::vector<std::string> names;
  for (const MethodEntry& entry : known_methods()) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  raise("{}", unknown_name("method", name, names));
}

Fields resolve_options(const std::string& name, const JsonObject& given) {
  return method_named(name).resolve_options(given);
}

std::unique_ptr<Method> make_method(const std::string& name, const Fields& options) {
  return method_named(name).make(JsonObject(options, "options of method \"" + name + "\""));
}

std::unique_ptr<reuse::SequenceCache> make_cache(const std::string& name, const Fields& options) {
  if (!method_named(name).info.is_cache)
    raise("method \"{}\" is more than a cache: it decides what layers compute, or imports states",
          name);
  return make_method(name, options)->parts().cache;
}

void require_head(const model::ModelConfig& config) {
  if (!config.has_head)
    raise(
        "model {} has no head that makes logits, so that it generates nothing: its checkpoint is "
        "of an encoder, or of a decoder saved without lm_head.weight; take a decoder with its head",
        config.name);
}

Setup generation_setup(model::Decoder& decoder, const Context& context, DType kv_dtype,
                       int32_t step_tokens, const Use& use) {
  require_head(decoder.config());
  Setup setup{.context = context, .runtime = decoder.runtime(), .config = decoder.config()};
  setup.decoder = &decoder;
  setup.kv_dtype = kv_dtype;
  setup.step_tokens = step_tokens;
  setup.use = use;
  return setup;
}

std::unique_ptr<reuse::SequenceCache> join(Parts parts, engine::EngineOptions& options) {
  for (auto& contributor : parts.contributors)
    options.contributors.push_back(std::move(contributor));
  if (parts.policy != nullptr)
    options.policy = options.policy == nullptr ? parts.policy
                                               : std::make_shared<model::PolicyChain>(std::vector{
                                                     options.policy, std::move(parts.policy)});
  if (parts.shaper != nullptr) {
    REPRISE_CHECK(options.shaper == nullptr, "two methods shape the requests of one engine");
    options.shaper = std::move(parts.shaper);
  }
  options.limits.max_sequence_tokens -= parts.spared_tokens;
  if (parts.cache != nullptr) return std::move(parts.cache);
  if (parts.cache_name.empty()) return std::make_unique<reuse::ContiguousCache>();
  return make_cache(parts.cache_name, {});
}

}  // namespace reprise::methods
