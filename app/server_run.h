// The parts of `reprise serve` that serving text and serving sentence vectors have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/serve_options.h"
#include "server/generation_request.h"
#include "server/server.h"

namespace reprise::app {

// The server's options, with as many connections as the system has file descriptors for. Throws
// Error for options that make no sense, and if not one connection is possible.
server::ServerOptions server_options(const ServeOptions& options);

// Starts a server, says where it listens, and ends it once the program is interrupted. `facts` are
// lines about the model, written once the server listens.
void run_server(const ServeOptions& options, server::ServedModel& model, const std::string& facts,
                const std::function<std::unique_ptr<server::Server>()>& start);

// A model's name, lengths and end tokens, with the name of --served-model-name if it was given.
server::ServedModel served_model_of(const ServeOptions& options, const ChosenModel& chosen,
                                    const Tokenizer& tokenizer);

}  // namespace reprise::app
