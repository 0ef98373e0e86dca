// The key of a stored segment: everything that its states depend on, and the name of their module.
#pragma once

#include <compare>
#include <string>

namespace reprise::kv {

// Everything besides the module that states depend on. Segments of identities that differ in a
// field are never exchanged. A field that does not matter to the owner stays empty.
struct StoreIdentity {
  std::string model;      // hash of config and weights: model::fingerprint_of()
  std::string tokenizer;  // hash of the tokenizer's files: model::tokenizer_fingerprint_of()
  std::string schema;     // hash of the schema's text
  std::string dtype;      // dtype in which the model computed

  auto operator<=>(const StoreIdentity&) const = default;
};

// The key of a segment. Keys are compared field by field, never by hash.
struct SegmentKey {
  StoreIdentity identity;
  std::string module;

  SegmentKey() = default;
  // A key without identity. The name alone must then determine the states.
  SegmentKey(std::string module_name);  // NOLINT(google-explicit-constructor)
  SegmentKey(const char* module_name);  // NOLINT(google-explicit-constructor)
  SegmentKey(StoreIdentity whose, std::string module_name);

  auto operator<=>(const SegmentKey&) const = default;
};

// Returns the name of the key's file in a store's folder: 32 hexadecimal digits and ".segment". For
// a key without identity, this is the name that format 1 used.
std::string file_name_of(const SegmentKey& key);

}  // namespace reprise::kv
