// What a segment is kept under: whose states they are, and of which module.
#pragma once

#include <compare>
#include <string>

namespace reprise::kv {

// What states depend on beside a module's own name. Each is any text; two identities that differ in
// one of them never share a segment. Empty where it does not matter to the owner.
struct StoreIdentity {
  std::string model;      // of config and weights: model::fingerprint_of()
  std::string tokenizer;  // of its files: model::tokenizer_fingerprint_of()
  std::string schema;     // hash of the schema's text
  std::string dtype;      // that the model computed in

  auto operator<=>(const StoreIdentity&) const = default;
};

// Compared whole, never by hash.
struct SegmentKey {
  StoreIdentity identity;
  std::string module;

  SegmentKey() = default;
  // A name that says by itself all that the states depend on.
  SegmentKey(std::string module_name);  // NOLINT(google-explicit-constructor)
  SegmentKey(const char* module_name);  // NOLINT(google-explicit-constructor)
  SegmentKey(StoreIdentity whose, std::string module_name);

  auto operator<=>(const SegmentKey&) const = default;
};

// Of the file in a store's folder: 32 hexadecimal digits and ".segment". Without an identity it is
// that of the first format, whose keys were names alone.
std::string file_name_of(const SegmentKey& key);

}  // namespace reprise::kv
