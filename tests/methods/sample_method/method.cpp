// A sample method: a prefix tree of small chunks, in which a chunk shared by two or more sequences
// is read once for all.
#include "core/reuse/prefix_tree_cache.h"
#include "methods/cache_method.h"

namespace reprise::methods {
namespace {

struct SampleOptions {
  int32_t chunk_tokens = 16;

  void visit(reuse::OptionVisitor& visitor) {
    visitor.integer({"chunk_tokens", "tokens", "size of a chunk"}, {8, 128, 8}, chunk_tokens);
  }
};

class SampleCache final : public reuse::PrefixTreeCache {
 public:
  explicit SampleCache(const SampleOptions& options)
      : PrefixTreeCache(
            {.tree = {.chunk_tokens = options.chunk_tokens, .matching = reuse::Matching::kChunks}},
            [](const reuse::TreeNode& node) { return node.sequences > 1; }) {}
};

}  // namespace

MethodEntry sample_method_method() {
  return cache_method<SampleCache, SampleOptions>(
      {.name = "sample_method",
       .summary = "a prefix tree of small chunks, each read once for all that share it",
       .paper = "",
       .exactness = Exactness::kExact,
       .look = {.color = "#1B9E77", .marker = "*"}});
}

}  // namespace reprise::methods
