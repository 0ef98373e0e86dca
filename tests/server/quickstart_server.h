// The whole server with the shipped model, on a free port, with small limits that a test chooses.
#pragma once

#include <memory>
#include <string>

#include "core/engine/engine.h"
#include "methods/registry.h"
#include "server/served_model.h"
#include "server/server.h"
#include "tests/server/raw_client.h"
#include "tests/support/json.h"

namespace reprise::server {

inline std::string quickstart_folder() { return REPRISE_SOURCE_DIR "/models/quickstart"; }

struct QuickstartOptions {
  std::string method = "chunk_attention";
  std::string method_options = R"({"reuse_prefill": true})";
  std::string chat_template = "llama-2";
  int32_t max_batch = 8;
  int32_t max_sequence_tokens = 512;
  ServerOptions server = {.port = 0};
};

class QuickstartServer {
 public:
  explicit QuickstartServer(const QuickstartOptions& options = {})
      : tokenizer_(load_tokenizer(quickstart_folder())),
        decoder_(model::load_decoder(quickstart_folder(), {.dtype = DType::kF32}, context_)),
        model_(served_model(decoder_->config(), *tokenizer_, quickstart_folder(),
                            options.chat_template)),
        engine_(context_, *decoder_,
                methods::make_cache(options.method, Json::parse(options.method_options)),
                {.limits = {.max_batch = options.max_batch,
                            .max_sequence_tokens = options.max_sequence_tokens}}) {
    model_.max_sequence_tokens = options.max_sequence_tokens;
    server_ = std::make_unique<Server>(engine_, model_, options.server);
  }

  [[nodiscard]] int port() const { return server_->port(); }
  [[nodiscard]] Server& server() const { return *server_; }
  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  [[nodiscard]] model::Decoder& decoder() const { return *decoder_; }
  [[nodiscard]] const std::string& name() const { return model_.name; }
  // Ends the server and gives back its engine.
  engine::Engine& stop() {
    server_.reset();
    return engine_;
  }

  [[nodiscard]] RawAnswer complete(const Json& body) const {
    return post(port(), "/v1/completions", body);
  }
  [[nodiscard]] RawAnswer chat(const Json& body) const {
    return post(port(), "/v1/chat/completions", body);
  }

 private:
  Context context_ = Context::machine();
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<model::Decoder> decoder_;
  ServedModel model_;
  engine::Engine engine_;
  std::unique_ptr<Server> server_;
};

}  // namespace reprise::server
