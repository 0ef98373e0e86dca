// The key/value states of a schema's modules: computes them once, keeps them in a segment store,
// and finds them for each prompt.
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

// Counts of what encode() or import() computed.
struct EncodeReport {
  int32_t passes = 0;    // passes computed; a pass whose units are all in the store is skipped
  int32_t units = 0;     // units that these passes computed
  int64_t tokens = 0;    // tokens computed, summed over the passes
  double compute_s = 0;  // time in the decoder
  // The first reason why states are kept in memory instead of the store's folder; "" if there is
  // none.
  std::string unwritten;

  EncodeReport& operator+=(const EncodeReport& more);
};

// The states of one schema in one mode for one model. `schema`, `decoder` and `store` must outlive
// the ModuleStates.
class ModuleStates {
 public:
  // `whose` has the fingerprints of model and tokenizer (model/checkpoint/fingerprint.h). The
  // constructor adds the identity's `schema`, a hash of compiled names, tokens, positions and mode,
  // and its `dtype`, which names the dtype of the decoder's arithmetic, the format of quantized
  // weights, and the dtype of keys and values.
  ModuleStates(model::Decoder& decoder, kv::SegmentStore& store, const pml::CompiledSchema& schema,
               Mode mode, const kv::StoreIdentity& whose, const EncodeOptions& options);

  // Computes the states that the store does not hold, or that are damaged. Throws Error if the
  // store has no room and EncodeOptions::keeps_unwritten is false. After it, EncodeOptions::between
  // is not called any more.
  EncodeReport encode();
  // Reads all states that are in files. Removes damaged states, so that the next encode() or
  // import() computes them, and returns the number of units removed. States whose file cannot be
  // removed are ignored instead if EncodeOptions::keeps_unwritten is true. For use after
  // SegmentHandle::check_layer() failed.
  int32_t drop_damaged();
  // The states that a prompt imports, by position, without a copy. Missing ones (evicted, damaged)
  // are computed, and counted in `computed`. Prompts that are alive at the same time and import the
  // same module get the same SharedStates.
  std::vector<StateRun> import(const pml::CompiledPrompt& prompt, EncodeReport* computed = nullptr);

  [[nodiscard]] const Encoding& encoding() const { return encoding_; }
  [[nodiscard]] const pml::CompiledSchema& schema() const { return schema_; }
  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] const EncodeOptions& options() const { return options_; }
  [[nodiscard]] kv::SegmentKey key_of(int32_t unit) const;

 private:
  // Finds the states of `unit` in the store; null if the store has none. Erases an entry that has
  // the unit's key but is damaged or holds other tokens.
  std::shared_ptr<const SharedStates> find(int32_t unit);
  // True if a segment holds the unit's tokens at its positions, in the model's shape and dtype.
  // Kernels address segments by shape and dtype, so every segment is checked before use.
  [[nodiscard]] bool is_of(int32_t unit, const kv::SegmentHandle& handle) const;
  // The states as steps read them: in place, or on the device that computes.
  [[nodiscard]] std::shared_ptr<const SharedStates> states_of(kv::SegmentHandle handle) const;
  // Keeps states on the device and drops the least recently used ones.
  void keep_on_device(int32_t unit, const std::shared_ptr<const SharedStates>& states);
  void compute(int32_t pass, EncodeReport& report);
  // Puts a unit's segment into the store, or into `in_memory_` if the store does not take it.
  void keep(int32_t unit, kv::SegmentBuffer segment, double cost_s, EncodeReport& report);
  [[nodiscard]] bool is_there(int32_t unit);
  // Removes a unit's states from the store, or ignores them from now on if their file cannot be
  // removed and EncodeOptions::keeps_unwritten is true.
  void erase(int32_t unit);

  model::Decoder& decoder_;
  kv::SegmentStore& store_;
  const pml::CompiledSchema& schema_;
  Mode mode_;
  Encoding encoding_;
  kv::StoreIdentity identity_;
  EncodeOptions options_;
  std::vector<std::string> notes_;     // [units]  notes stored beside their states
  std::vector<int32_t> pass_of_unit_;  // [units]
  std::vector<std::weak_ptr<const SharedStates>> in_use_;  // [units]
  std::vector<bool> is_ignored_;  // [units]  true: the store's states are not used; see erase()
  std::unique_ptr<kv::SegmentStore> in_memory_;  // see EncodeOptions::keeps_unwritten; null: unused
  // States within options_.device_bytes, the most recently used last.
  std::vector<std::pair<int32_t, std::shared_ptr<const SharedStates>>> on_device_;
};

}  // namespace reprise::prompt_cache
