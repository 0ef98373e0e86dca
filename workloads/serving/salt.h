// Salts: tokens at the beginning of prompts that keep a server from reusing what it cached for
// other prompts.
#pragma once

#include <cstdint>

namespace reprise::workloads {

// The requests that may find each other's prompts in a cache.
enum class SaltScope : uint8_t {
  kAnything,  // all requests, also of earlier runs: there are no salts
  kRun,       // only requests of the same run
  kSession,   // only turns of one conversation in the same run
  kRequest    // no other request
};

// A nonce changes all made-up tokens but neither lengths nor which prompts share prefixes. If
// prompts begin with real text, which must stay, and always with kSession and kRequest, kSaltTokens
// made-up tokens precede each prompt. They are equal for prompts that may find each other.
struct Salt {
  SaltScope scope = SaltScope::kAnything;
  uint64_t nonce = 0;  // nonce of the run; unused with kAnything
  [[nodiscard]] bool changes_prompts() const { return scope != SaltScope::kAnything; }
  bool operator==(const Salt&) const = default;
};

inline constexpr int64_t kSaltTokens = 8;

}  // namespace reprise::workloads
