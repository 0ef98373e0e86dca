// What a method may be given beside its options.
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

// Null where there is none; what is there outlives the method. A method that cannot work without
// one can still be made and described; it throws Error, with the remedy, when it is asked for its
// pool.
struct MethodResources {
  kv::SegmentStore* store = nullptr;           // of segments that outlive engines
  const Tokenizer* tokenizer = nullptr;        // the model's
  const model::ModelConfig* config = nullptr;  // the model's
};

}  // namespace reprise::reuse
