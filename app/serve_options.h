// Options of `reprise serve`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/embed_options.h"
#include "app/model_options.h"
#include "core/engine/preemption.h"
#include "methods/registry.h"
#include "server/server.h"

namespace reprise::app {

// Default of --max-tokens, unless the model has fewer positions: most tokens of a prompt together
// with its answer, or of a text to embed.
inline constexpr int32_t kMostDefaultTokens = 4096;

struct ServeOptions {
  ModelOptions model = {.method = methods::kServedMethod};
  // True if --method or --method-options was given, even with its default value.
  bool has_chosen_method = false;
  std::string served_name;    // "": the name of the checkpoint's folder
  std::string chat_template;  // "": the checkpoint's
  std::string api_key, api_key_file;
  std::string prefix_file, system_file;
  std::string kv_budget;  // bytes with a unit; "": see --help
  std::string scheduler = "first_come";
  std::string preemption = "recompute";
  std::string swap_budget;  // bytes with a unit; "": all that memory or disk has
  std::string swap_folder;  // "": the system's folder for temporary files
  int32_t max_batch = 32;
  int32_t max_tokens = 0;  // prompt and answer together; 0: the model's positions
  int32_t prefill_chunk = 512;
  bool makes_vectors = false;  // --embeddings
  EmbedOptions embed;          // --pooling and --normalize
  // Names of the given options that only generation has, or that only embedding has.
  std::vector<std::string> for_generation, for_embedding;
  std::string trace;       // file of trace events; "": none
  std::string body_limit;  // bytes with a unit; "": the default of server::HttpLimits
  int64_t request_timeout_s = 600;
  int64_t grace_s = 5;
  server::ServerOptions serving;
};

void add_serve_options(CLI::App& command, ServeOptions& options);
// Records in `options` which options were given. Call it after `command` is parsed.
void note_given_options(const CLI::App& command, ServeOptions& options);

// Returns the options for keeping the states of preempted requests. Throws Error for an option that
// has no effect in combination with the other options, and for a folder that cannot be written.
engine::SwapOptions swap_options(const ServeOptions& options);

// The key of --api-key or --api-key-file; "": none. Throws Error if both are given, and for a file
// without a key.
std::string api_key_of(const ServeOptions& options);

}  // namespace reprise::app
