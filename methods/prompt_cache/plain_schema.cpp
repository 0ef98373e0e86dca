#include "methods/prompt_cache/plain_schema.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reprise::prompt_cache {
namespace {

// Appends `module` to the schema, with `tokens` as its only text.
void add_module(pml::CompiledSchema& schema, pml::CompiledModule module,
                const std::vector<int32_t>& tokens) {
  module.id = static_cast<int32_t>(schema.modules.size());
  module.first = schema.length;
  if (!tokens.empty()) {
    const auto piece = static_cast<int32_t>(schema.pieces.size());
    schema.pieces.push_back(
        {.id = piece, .module = module.id, .run = 1, .first = schema.length, .tokens = tokens});
    module.pieces = {piece};
    schema.length += static_cast<int64_t>(tokens.size());
  }
  module.end = schema.length;
  schema.modules.push_back(std::move(module));
}

}  // namespace

pml::CompiledSchema plain_schema(const std::vector<std::vector<int32_t>>& modules) {
  pml::CompiledSchema schema;
  schema.name = "plain";
  add_module(schema, {.name = ".", .path = "."}, /*tokens=*/{});
  for (const std::vector<int32_t>& tokens : modules) {
    REPRISE_CHECK(!tokens.empty(), "module {} is empty", schema.modules.size());
    const std::string name = std::to_string(schema.modules.size());
    add_module(schema, {.name = name, .path = name, .parent = 0}, tokens);
    schema.modules[0].children.push_back(schema.modules.back().id);
  }
  schema.modules[0].first = 0;
  schema.modules[0].end = schema.length;
  return schema;
}

pml::CompiledPrompt plain_prompt(const pml::CompiledSchema& schema, std::vector<int32_t> modules,
                                 std::vector<int32_t> text) {
  REPRISE_CHECK(!text.empty() && !modules.empty(), "a prompt without a new token or a module");
  std::sort(modules.begin(), modules.end());
  pml::CompiledPrompt prompt;
  prompt.modules = {0};  // module 0, which contains all others
  for (const int32_t module : modules) {
    prompt.modules.push_back(module + 1);
    prompt.pieces.push_back(module);
    prompt.cached_tokens += std::ssize(schema.pieces.at(static_cast<size_t>(module)).tokens);
  }
  const int64_t first = schema.modules[static_cast<size_t>(modules.back()) + 1].end;
  prompt.new_tokens = static_cast<int64_t>(text.size());
  prompt.end = first + prompt.new_tokens;
  prompt.new_runs.push_back({.first = first, .tokens = std::move(text)});
  return prompt;
}

}  // namespace reprise::prompt_cache
