// Reads the body of POST /v1/embeddings, and refuses anything that is not such a request.
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

// Inputs that are texts are tokenized by `embedder`; inputs that are token ids are taken as they
// are. Throws ApiError 404 for another model. Throws ApiError 400 for more than 2048 inputs, for
// more than 2^21 numbers in all vectors together, for a text that is empty or longer than
// `embedder` takes, and for fields that are not supported and would change the answer.
EmbeddingRequest read_embedding(const std::string& body, const ServedModel& model,
                                const sentence::Embedder& embedder);

}  // namespace reprise::server
