// A BERT that runs in microseconds, with its embedder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/sentence/embedder.h"
#include "tests/core/sentence/sentence_testing.h"

namespace reprise::server {

struct TinyEmbedder {
  TinyEmbedder() {
    sentence::write_sentence_model(dir);
    tokenizer = load_tokenizer(dir.path());
    decoder = model::load_decoder(dir.path().string(), {.random_weights = true}, context);
    embedder = std::make_unique<sentence::Embedder>(
        *decoder, *tokenizer, sentence::settings_of(dir.path().string(), decoder->config()));
  }
  // Tokens of texts that consist of the words a to h. At most 12 tokens of a text are taken, of
  // which 2 are special.
  [[nodiscard]] std::vector<sentence::TextTokens> tokens_of(
      const std::vector<std::string>& texts) const {
    return embedder->tokens_of(texts);
  }

  Context context = Context::machine();
  model::TempDir dir;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<model::Decoder> decoder;
  std::unique_ptr<sentence::Embedder> embedder;
};

}  // namespace reprise::server
