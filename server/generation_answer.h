// Generates the answer to one request for text, either as a whole or as a stream.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "server/answer_json.h"
#include "server/choice.h"
#include "server/http.h"
#include "server/service.h"

namespace reprise::server {

class GenerationAnswer {
 public:
  // Submits the request. `service`, `model` and `texts` must outlive this object. `until` is the
  // deadline of the answer. Throws ApiError as Service::submit().
  GenerationAnswer(Service& service, const ServedModel& model, const TokenTexts& texts,
                   GenerationRequest request, Reply::Clock::time_point until);

  // Waits for the first token, so that errors before it can still be answered with an HTTP status.
  // Throws ApiError, or PeerGone if the other end of `socket` closes.
  void begin(int socket);
  // Waits for the remaining tokens and returns the whole answer as JSON. Throws as begin().
  std::string whole(int socket);
  // Writes an event for each token as it arrives, even if its text is still held back. If
  // generation fails, the last event is an error.
  void stream(int socket, const HttpWrite& write);

 private:
  struct Part {
    Choice choice;
    LogprobList logprobs;
    std::string text;
    // Token ids that no event or answer has contained yet; only if the client asked for them.
    std::vector<int32_t> token_ids = {};
    bool told_prompt = false, took_prompt_logprobs = false;
  };
  [[nodiscard]] size_t prompt_of(size_t choice) const {
    return choice / static_cast<size_t>(request_.n);
  }

  // Waits for pieces. Throws as begin().
  std::vector<Piece> next(int socket);
  // Takes a piece and returns the text to show for it. Throws ApiError if the piece is an error.
  std::string take(const Piece& piece);
  // Writes the event of a piece. Returns false if the connection cannot be written any more.
  bool write_piece(const Piece& piece, const HttpWrite& write);
  bool stream_all(int socket, const HttpWrite& write);
  // Returns the content of choice `index`: `text`, and the log probabilities and token ids that
  // were added since the last call for this choice.
  ChoiceContent content(size_t index, std::string text);
  // The token ids of a prompt as field "prompt_token_ids"; empty if the client did not ask for
  // them. As in vLLM, they stand beside the choices of a chat and in each choice of a completion.
  [[nodiscard]] Fields prompt_ids(size_t prompt) const;
  [[nodiscard]] bool has_ended() const { return left_ == 0; }
  [[nodiscard]] Usage usage() const;

  GenerationRequest request_;
  AnswerHead head_;
  Reply::Clock::time_point until_;
  std::vector<Echo> echoes_;  // [prompts]; empty if the prompts are not echoed
  std::vector<Part> parts_;   // [prompts * n], the choices of one prompt next to each other
  int64_t prompt_tokens_ = 0, cached_tokens_ = 0;
  size_t left_ = 0;  // number of choices that have not ended
  std::vector<Piece> first_;
  Ticket ticket_;
};

}  // namespace reprise::server
