// The methods that this program knows, by name. They are those whose folders the build found.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "methods/method.h"

namespace reprise::methods {

// The plain KV cache, which shares nothing and skips nothing. It is the default method of commands,
// and exact methods are compared with it.
inline constexpr const char* kReferenceMethod = "contiguous";
// The default method of a server. It shares any prefix where that pays on this machine.
inline constexpr const char* kServedMethod = "auto";
// The default method of a server whose model has other keys for equal prefixes of prompts of
// different lengths. It shares nothing.
inline constexpr const char* kUnsharedServedMethod = "paged";
// The default method for sentence vectors. It computes every attention map of a prompt.
inline constexpr const char* kPromptMethod = "compute";

// All methods, those without a paper first; both parts are sorted by name.
const std::vector<MethodEntry>& known_methods();

// The functions below throw Error for an unknown method, with the nearest known one.

const MethodEntry& method_named(const std::string& name);

// All options of a method: the options of `given`, and defaults for all others. Throws Error as
// MethodEntry::resolve_options.
Fields resolve_options(const std::string& name, const JsonObject& given);

// A method with its options. Throws Error as resolve_options().
std::unique_ptr<Method> make_method(const std::string& name, const Fields& options);

// The cache of a method that is only a cache (MethodInfo::is_cache). Throws Error for other
// methods.
std::unique_ptr<reuse::SequenceCache> make_cache(const std::string& name, const Fields& options);

// Throws Error if a model with this config has no head, so that it cannot generate. The config must
// be a loaded decoder's, or one that model::check_loadable() returned, because config.json alone
// does not tell whether a checkpoint has a head.
void require_head(const model::ModelConfig& config);

// The setup of a method whose engine generates with `decoder`. The decoder, and the data that `use`
// points at, must outlive the setup. Throws Error as require_head().
Setup generation_setup(model::Decoder& decoder, const Context& context, DType kv_dtype,
                       int32_t step_tokens, const Use& use);

// Moves a method's parts into the options of the engine that will use them. Returns that engine's
// cache: `parts.cache`, or else one made from `parts.cache_name`. Throws Error if
// `parts.cache_name` names a method that does more than cache.
std::unique_ptr<reuse::SequenceCache> join(Parts parts, engine::EngineOptions& options);

}  // namespace reprise::methods
