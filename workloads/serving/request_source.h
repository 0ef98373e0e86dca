// What a server is asked: requests whose prompts and lengths are known before any is sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::workloads {

struct ServingRequest {
  std::vector<int32_t> prompt;  // exactly as long as the source says; at least one token
  int64_t output_tokens = 1;    // to generate, whatever is drawn; at least one
  // Of the prefixes that the source declares, the one that the prompt begins with; -1: none.
  int32_t prefix = -1;
  // Leading tokens that a request before this one in the source's order has too, or its declared
  // prefix: what a cache that forgets nothing can have of it.
  int64_t shared_tokens = 0;
  bool operator==(const ServingRequest&) const = default;
};

// A text that many requests begin with, which a user may announce to the server.
struct DeclaredPrefix {
  std::string name;
  std::vector<int32_t> tokens;
};

// Requests depend on the source's options and seeds and on their number alone, so that every method
// and every server is asked the same, and none is kept: a million requests take no more memory than
// the file they come from. Several threads may draw at once.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  // Of request 0, 1, ..., size() - 1, in the order in which they are sent.
  [[nodiscard]] virtual ServingRequest request(int64_t index) const = 0;
  // Tokens of its prompt and its output, without drawing them.
  struct Lengths {
    int64_t prompt = 0, output = 0;
  };
  [[nodiscard]] virtual Lengths lengths(int64_t index) const = 0;
  [[nodiscard]] virtual std::vector<DeclaredPrefix> prefixes() const { return {}; }
  // Seconds from the start to each request, ascending, of sources that were recorded with their
  // times; else empty: an arrival process says when.
  [[nodiscard]] virtual std::vector<double> arrivals_s() const { return {}; }
  // Of what was looked at of a file: requests that are not asked, and that are asked in part.
  struct Dropped {
    int64_t by_rule = 0;   // the source's own: a length of 0, ShareGPT's sampling rule
    int64_t too_long = 0;  // for the caps of its options
    int64_t cut = 0;       // to the caps, and asked
  };
  [[nodiscard]] virtual Dropped dropped() const { return {}; }
};

}  // namespace reprise::workloads
