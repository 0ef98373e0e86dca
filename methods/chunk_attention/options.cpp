#include "methods/chunk_attention/options.h"

#include "core/base/error.h"

namespace reprise::methods {

void ChunkAttentionOptions::visit(reuse::OptionVisitor& visitor) {
  tree.visit(visitor);
  visitor.integer({"share_threshold", "sequences",
                   "chunks of more sequences of the step than this are read chunk-first"},
                  {0, 1 << 20}, share_threshold);
  visitor.boolean({"item_per_shared_chunk", "",
                   "each shared chunk leaves partial results of its own, else neighbouring chunks "
                   "of equal readers together"},
                  item_per_shared_chunk);
  visitor.boolean({"item_per_private_chunk", "", "the same of what a sequence reads alone"},
                  item_per_private_chunk);
  visitor.boolean({"direct_reduction", "",
                   "partial results are merged under locks while others are computed, else stored "
                   "and merged then; on the CPU only"},
                  direct_reduction);
}

void ChunkAttentionOptions::check_device(Device device) const {
  if (direct_reduction && device != Device::kCpu)
    raise(
        "chunk_attention with direct_reduction on device {}: only the CPU merges partial results "
        "under locks; leave the option out, or use --device cpu",
        name_of(device));
}

std::vector<reuse::Preset<ChunkAttentionOptions>> ChunkAttentionOptions::presets() {
  return {{"compressed", "partial results for each run of chunks with the same readers", {}},
          // The prefix lookup avoids computing the keys and values of shared tokens again, and each
          // shared chunk is a work item with partial results of its own.   [ChunkAttention §3.2,
          // algorithm 1]
          {"as_published",
           "the paper: prefill reuses what the tree holds, partial results for each shared chunk",
           {.tree = {.reuse_prefill = true}, .item_per_shared_chunk = true}},
          // The released code gets the keys and values of whole prompts, so prefill reuses nothing.
          // Its CPU kernel reads every chunk chunk-first, even a chunk of a single sequence.
          {"as_coded",
           "the released CPU kernel: whole prompts are computed, every chunk is read chunk-first "
           "(direct_reduction adds its way to merge)",
           {.share_threshold = 0, .item_per_shared_chunk = true, .item_per_private_chunk = true}}};
}

}  // namespace reprise::methods
