#include "core/reuse/paged_options.h"

#include "core/base/error.h"

namespace reprise::reuse {

PagedOptions read_paged_options(JsonObject& options) {
  PagedOptions paged;
  paged.block_tokens =
      static_cast<int32_t>(options.integer_in("block_tokens", 8, 128, paged.block_tokens));
  paged.version = static_cast<int32_t>(options.integer_in("version", 1, 2, paged.version));
  const bool has_partition = options.has("partition_tokens");
  paged.partition_tokens = static_cast<int32_t>(
      options.integer_in("partition_tokens", 1, 1 << 20, paged.partition_tokens));
  if (has_partition && paged.version == 1)
    raise("{}: only version 2 has partitions: leave it out, or add \"version\": 2",
          options.where("partition_tokens"));
  if (paged.version == 2 && paged.partition_tokens % paged.block_tokens != 0)
    raise("{}: {} is no multiple of the {} tokens of a block: choose one",
          options.where("partition_tokens"), paged.partition_tokens, paged.block_tokens);
  return paged;
}

}  // namespace reprise::reuse
