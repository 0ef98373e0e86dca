// The requests for a server. Their prompts and lengths are known before any request is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads {

// Says where a prompt contains an earlier answer of the same conversation. A client may put the
// server's own answer there instead of the source's.
struct EarlierAnswer {
  int64_t request = 0;            // index of the request that it answered
  int64_t first = 0, tokens = 0;  // the answer's tokens in the prompt
  bool operator==(const EarlierAnswer&) const = default;
};

struct ServingRequest {
  std::vector<int32_t> prompt;  // as long as RequestSource::lengths() says; not empty
  int64_t output_tokens = 1;    // number of tokens to generate, >= 1
  // Index of the declared prefix with which the prompt begins; -1: none.
  int32_t prefix = -1;
  // Leading tokens in common with an earlier request of the source or with the declared prefix. A
  // cache that forgets nothing can reuse at most these.
  int64_t shared_tokens = 0;
  int64_t module_tokens = 0;                // leading tokens that are modules of the source
  std::vector<EarlierAnswer> answers = {};  // oldest first
  // Leading tokens that occurred in the prompts or answers of the conversation's earlier turns. A
  // cache can reuse the answers among them only if the prompt holds the server's own answers.
  int64_t session_tokens = 0;
  bool operator==(const ServingRequest&) const = default;
};

// A text with which many requests begin. A user may announce it to the server.
struct DeclaredPrefix {
  std::string name;
  std::vector<int32_t> tokens;
};

// A request depends only on the source's options, its seeds and the request's number, so every
// method and server gets the same requests. They are not stored: a million requests take no more
// memory than their file. Several threads may call request() at once.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  // Returns request `index`; requests are numbered in sending order.
  [[nodiscard]] virtual ServingRequest request(int64_t index) const = 0;
  // Numbers of tokens in a request's prompt and output. Tokens need not be drawn to know them.
  struct Lengths {
    int64_t prompt = 0, output = 0;
  };
  [[nodiscard]] virtual Lengths lengths(int64_t index) const = 0;
  [[nodiscard]] virtual std::vector<DeclaredPrefix> prefixes() const { return {}; }
  // Texts that prompts are put together from, in any order, before the request's own part. A prompt
  // holds each text at most once. A user may give them to a server that caches each text
  // separately.
  [[nodiscard]] virtual std::vector<std::vector<int32_t>> modules() const { return {}; }
  // [requests]  earlier requests whose answers request i waits for: the conversation's previous
  // turn, or the last requests of all agents that work for the conversation. Empty: the source has
  // no conversations.
  [[nodiscard]] virtual std::vector<std::vector<int64_t>> waits_for() const { return {}; }
  // [requests] recorded seconds from the last answer of waits_for() to the request. Empty: no
  // pauses are recorded.
  [[nodiscard]] virtual std::vector<double> pauses_s() const { return {}; }
  // True if a generated text answers request `index` correctly; nullopt if no answers are known.
  [[nodiscard]] virtual std::optional<bool> is_right(int64_t /*index*/,
                                                     std::string_view /*generated*/) const {
    return std::nullopt;
  }
  // Seconds from the start to each request, ascending, for sources recorded with their times.
  // Empty: an arrival process decides.
  [[nodiscard]] virtual std::vector<double> arrivals_s() const { return {}; }
  // Counts of recorded requests that are not sent, or sent only in part.
  struct Dropped {
    // Requests dropped by the source's own rule: for a length of 0, or by ShareGPT's sampling rule.
    // A conversation counts once, whether all of it is left out or only the turns from the first
    // one that makes no request.
    int64_t by_rule = 0;
    int64_t too_long = 0;  // dropped because they exceed the caps
    int64_t cut = 0;       // cut to the caps and sent
  };
  [[nodiscard]] virtual Dropped dropped() const { return {}; }
};

}  // namespace reprise::workloads
