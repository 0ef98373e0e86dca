// Reads the body of POST /v1/embeddings, which may hold anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/sentence/embedder.h"
#include "server/generation_request.h"

namespace reprise::server {

struct EmbeddingRequest {
  std::vector<sentence::TextTokens> texts;  // at least one, none of them cut or empty
  bool is_base64 = false;                   // the form of the answer's vectors

  [[nodiscard]] int64_t tokens() const;
};

// Texts are tokenized as `embedder` does it; token ids are taken as they are. Throws ApiError (400,
// or 404 for another model): for more than 2048 inputs, more than 2^21 numbers in all vectors
// together, a text that is empty or longer than the embedder takes, and fields that are not
// supported and would change the answer.
EmbeddingRequest read_embedding(const std::string& body, const ServedModel& model,
                                const sentence::Embedder& embedder);

}  // namespace reprise::server
