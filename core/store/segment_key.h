// The key of a stored segment: what its states depend on, and the name of their module.
#pragma once

#include <compare>
#include <string>

namespace reprise::kv {

// Everything that states depend on besides the module. Two identities that differ in one field
// never share a segment. Fields that do not matter to the owner stay empty.
struct StoreIdentity {
  std::string model;      // hash of config and weights: model::fingerprint_of()
  std::string tokenizer;  // hash of its files: model::tokenizer_fingerprint_of()
  std::string schema;     // hash of the schema's text
  std::string dtype;      // dtype in which the model computed

  auto operator<=>(const StoreIdentity&) const = default;
};

// Keys are compared as a whole, never by hash.
struct SegmentKey {
  StoreIdentity identity;
  std::string module;

  SegmentKey() = default;
  // A key without identity: its name alone must say what the states depend on.
  SegmentKey(std::string module_name);  // NOLINT(google-explicit-constructor)
  SegmentKey(const char* module_name);  // NOLINT(google-explicit-constructor)
  SegmentKey(StoreIdentity whose, std::string module_name);

  auto operator<=>(const SegmentKey&) const = default;
};

// Name of the key's file in a store's folder: 32 hexadecimal digits and ".segment". A key without
// identity has the name that format 1 used.
std::string file_name_of(const SegmentKey& key);

}  // namespace reprise::kv
