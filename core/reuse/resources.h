// Things that a method may be given besides its options.
#pragma once

namespace reprise {
class Tokenizer;
namespace kv {
class SegmentStore;
}
namespace model {
struct ModelConfig;
}
}  // namespace reprise

namespace reprise::reuse {

// Pointers are null if there is no such thing; otherwise it outlives the method. A method that
// needs a missing one can be made and described; it throws Error, with the remedy, in pool_need().
struct MethodResources {
  kv::SegmentStore* store = nullptr;           // segments that outlive engines
  const Tokenizer* tokenizer = nullptr;        // the model's
  const model::ModelConfig* config = nullptr;  // the model's
};

}  // namespace reprise::reuse
