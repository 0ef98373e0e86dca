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

inline constexpr int64_t kSaltTokens = 8;

// A nonce changes all made-up tokens. It changes neither lengths nor which prompts share prefixes,
// and it cannot change real text. If any prompt begins with real text, and always with kSession and
// kRequest, a salt of kSaltTokens made-up tokens precedes every prompt. The salt is the same for
// prompts that may find each other.
struct Salt {
  SaltScope scope = SaltScope::kAnything;
  uint64_t nonce = 0;  // nonce of the run; unused with kAnything
  [[nodiscard]] bool changes_prompts() const { return scope != SaltScope::kAnything; }
  // Number of salt tokens before each prompt. `has_text`: some prompt begins with real text.
  [[nodiscard]] int64_t tokens(bool has_text) const {
    const bool is_needed = scope > SaltScope::kRun || (scope == SaltScope::kRun && has_text);
    return is_needed ? kSaltTokens : 0;
  }
  bool operator==(const Salt&) const = default;
};

}  // namespace reprise::workloads
