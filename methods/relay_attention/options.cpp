#include "methods/relay_attention/options.h"

namespace reprise::methods {

void RelayAttentionOptions::visit(reuse::OptionVisitor& visitor) {
  visitor.integer(
      {"block_tokens", "tokens", "size of a block of contexts and prefixes, which share one pool"},
      {8, 1024}, block_tokens);
  visitor.integer({"most_prefixes", "prefixes", "at once; 0: as many as are declared"},
                  {0, 1 << 20}, most_prefixes);
  visitor.integer({"prefix_buffer_tokens", "tokens", "memory that a prefix takes at least"},
                  {0, 1 << 24}, prefix_buffer_tokens);
}

std::vector<reuse::Preset<RelayAttentionOptions>> RelayAttentionOptions::presets() {
  return {{"several_prefixes", "as many prefixes as are declared, each in blocks of its own", {}},
          // The released code uses vLLM's blocks of 16 tokens and one prefix per engine, in a
          // buffer of the model's maximal length. Options do not know the model: 4096 is Llama 2's.
          {"as_coded",
           "the released code: one prefix, in a buffer of 4096 tokens, Llama 2's longest length",
           {.block_tokens = 16, .most_prefixes = 1, .prefix_buffer_tokens = 4096}}};
}

}  // namespace reprise::methods
