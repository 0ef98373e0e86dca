// The states of a schema's modules: computed once, kept in a segment store, found for each prompt.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model/network/decoder.h"
#include "core/store/segment_store.h"
#include "methods/prompt_cache/encode.h"
#include "methods/prompt_cache/encoding.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

// What an encoding left in the store.
struct EncodeReport {
  int32_t passes = 0;    // computed; those whose units are all in the store are not
  int32_t units = 0;     // put
  int64_t tokens = 0;    // computed, each as often as a pass had it
  double compute_s = 0;  // in the decoder

  EncodeReport& operator+=(const EncodeReport& more);
};

// Of one schema, one way to encode and one model. `schema`, `decoder` and `store` must outlive it.
class ModuleStates {
 public:
  // `whose`: the fingerprints of model and tokenizer (model/checkpoint/fingerprint.h). Its schema
  // and dtype are filled in here: names, tokens and positions of the schema as compiled, the mode,
  // the dtype that the decoder computes in and that of keys and values.
  ModuleStates(model::Decoder& decoder, kv::SegmentStore& store, const pml::CompiledSchema& schema,
               Mode mode, const kv::StoreIdentity& whose, const EncodeOptions& options);

  // Computes what the store does not hold. A segment that is damaged is computed anew. Throws Error
  // where the store has no room.
  EncodeReport encode();
  // Asks the store to bring what a prompt imports to the host.
  void prefetch(const pml::CompiledPrompt& prompt);
  // What a prompt imports, by position; nothing is copied. Whatever is not there (evicted, damaged)
  // is computed on the way, and told in `computed`. Prompts that are alive at once and import the
  // same module get the same SharedStates.
  std::vector<StateRun> import(const pml::CompiledPrompt& prompt, EncodeReport* computed = nullptr);

  [[nodiscard]] const Encoding& encoding() const { return encoding_; }
  [[nodiscard]] const pml::CompiledSchema& schema() const { return schema_; }
  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] const EncodeOptions& options() const { return options_; }
  [[nodiscard]] kv::SegmentKey key_of(int32_t unit) const;

 private:
  // Null where the store does not hold the unit. Erases what lies under its key and is not its own.
  std::shared_ptr<const SharedStates> find(int32_t unit);
  // Whether a segment holds the unit's tokens at its positions, in this model's layers, heads, head
  // size and dtype. Kernels address a segment by these, so none reaches them without this check.
  [[nodiscard]] bool is_of(int32_t unit, const kv::SegmentHandle& handle) const;
  // Where steps read them: in place, or on the device that computes.
  [[nodiscard]] std::shared_ptr<const SharedStates> states_of(kv::SegmentHandle handle) const;
  // Keeps states on the device, in place of those that were used longest ago.
  void keep_on_device(int32_t unit, const std::shared_ptr<const SharedStates>& states);
  void compute(int32_t pass, EncodeReport& report);
  [[nodiscard]] bool is_there(int32_t unit);

  model::Decoder& decoder_;
  kv::SegmentStore& store_;
  const pml::CompiledSchema& schema_;
  Mode mode_;
  Encoding encoding_;
  kv::StoreIdentity identity_;
  EncodeOptions options_;
  std::vector<std::string> notes_;                         // [units]  kept beside their states
  std::vector<int32_t> pass_of_unit_;                      // [units]
  std::vector<std::weak_ptr<const SharedStates>> in_use_;  // [units]
  // Of options_.device_bytes; the latest used last.
  std::vector<std::pair<int32_t, std::shared_ptr<const SharedStates>>> on_device_;
};

}  // namespace reprise::prompt_cache
