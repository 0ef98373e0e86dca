#include "methods/relay_attention/options.h"

#include <array>
#include <string>

#include "core/base/error.h"

namespace reprise::methods {
namespace {

RelayAttentionOptions preset_of(JsonObject& options) {
  const std::array<std::string, 2> known = {"several_prefixes", "as_coded"};
  const std::string preset = options.string("preset", known[0]);
  if (preset == known[0]) return {};
  // The released code: vLLM's blocks of 16, one prefix for the engine, in a buffer of the model's
  // longest length (4096 for Llama 2).
  if (preset == known[1])
    return {.block_tokens = 16, .most_prefixes = 1, .prefix_buffer_tokens = 4096};
  raise("{}: {}", options.where("preset"), unknown_name("preset", preset, known));
}

}  // namespace

RelayAttentionOptions read_relay_attention_options(JsonObject& options) {
  RelayAttentionOptions chosen = preset_of(options);
  chosen.block_tokens =
      static_cast<int32_t>(options.integer_in("block_tokens", 8, 1024, chosen.block_tokens));
  chosen.prefix_buffer_tokens = static_cast<int32_t>(
      options.integer_in("prefix_buffer_tokens", 0, 1 << 24, chosen.prefix_buffer_tokens));
  return chosen;
}

}  // namespace reprise::methods
