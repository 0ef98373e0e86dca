#include "core/reuse/paged_options.h"

#include "core/base/error.h"

namespace reprise::reuse {

void PagedOptions::visit(OptionVisitor& visitor) {
  visitor.integer({"block_tokens", "tokens", "size of a block"}, {8, 128}, block_tokens);
  visitor.integer({"version", "",
                   "1: one pass over each sequence; 2: sequences are split into partitions that "
                   "are merged, more tasks for small batches"},
                  {1, 2}, version);
  visitor.integer(
      {"partition_tokens", "tokens", "of a partition of version 2: a multiple of block_tokens"},
      {1, 1 << 20}, partition_tokens);
}

void PagedOptions::check(const JsonObject& given) const {
  if (version == 1 && given.has("partition_tokens"))
    raise("{}: only version 2 has partitions: leave it out, or add \"version\": 2",
          given.where("partition_tokens"));
  if (version == 2 && partition_tokens % block_tokens != 0)
    raise("{}: {} is no multiple of the {} tokens of a block: choose one",
          given.where("partition_tokens"), partition_tokens, block_tokens);
}

}  // namespace reprise::reuse
