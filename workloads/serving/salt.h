// Salts: tokens at the beginning of prompts that keep a server from finding what it cached before.
#pragma once

#include <cstdint>

namespace reprise::workloads {

// The requests that may find each other's prompts in a cache.
enum class SaltScope : uint8_t {
  kAnything,  // all requests, also of earlier runs: there are no salts
  kRun,       // requests of the same run
  kSession,   // turns of one conversation in the same run
  kRequest    // no other request
};

// Another nonce gives other made-up tokens of the same lengths, shared in the same way. Texts
// cannot be made up, so kSaltTokens made-up tokens come before them, the same ones for all prompts
// that may find each other. With kSession and kRequest they come before all prompts.
struct Salt {
  SaltScope scope = SaltScope::kAnything;
  uint64_t nonce = 0;  // nonce of the run; unused with kAnything
  [[nodiscard]] bool changes_prompts() const { return scope != SaltScope::kAnything; }
  bool operator==(const Salt&) const = default;
};

inline constexpr int64_t kSaltTokens = 8;

}  // namespace reprise::workloads
