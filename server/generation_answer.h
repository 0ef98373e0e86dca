// The answer to one request for text, whole or as a stream.
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
  // What it names must outlive it. `until`: when it must have ended. Throws ApiError as
  // Service::submit().
  GenerationAnswer(Service& service, const ServedModel& model, const TokenTexts& texts,
                   GenerationRequest request, Reply::Clock::time_point until);

  // Waits for the first token, so that what goes wrong before it has an HTTP status of its own.
  // Throws ApiError, and PeerGone once `socket` is closed at its other end.
  void begin(int socket);
  // The rest, as JSON. Throws as begin().
  std::string whole(int socket);
  // The rest, as events: each token's as it comes, even where no text is certain yet. Ends with an
  // error's event where something goes wrong.
  void stream(int socket, const HttpWrite& write);

 private:
  struct Part {
    Choice choice;
    LogprobList logprobs;
    std::string text;
  };

  // Waits for pieces. Throws as begin().
  std::vector<Piece> next(int socket);
  // The text to show for a piece. Throws ApiError for one that tells of an error.
  std::string take(const Piece& piece);
  // False: the connection takes no more.
  bool write_piece(const Piece& piece, const HttpWrite& write);
  bool stream_all(int socket, const HttpWrite& write);
  [[nodiscard]] bool has_ended() const { return left_ == 0; }
  [[nodiscard]] Usage usage() const;

  GenerationRequest request_;
  AnswerHead head_;
  Reply::Clock::time_point until_;
  std::vector<Part> parts_;  // [choices], those of one prompt side by side
  int64_t prompt_tokens_ = 0, cached_tokens_ = 0;
  size_t left_ = 0;  // requests that have not ended
  std::vector<Piece> first_;
  Ticket ticket_;
};

}  // namespace reprise::server
