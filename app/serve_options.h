// What `reprise serve` can be told.
#pragma once

#include <cstdint>
#include <string>

#include "app/model_options.h"
#include "core/engine/preemption.h"
#include "methods/registry.h"
#include "server/server.h"

namespace reprise::app {

struct ServeOptions {
  ModelOptions model = {.method = methods::kServedMethod};
  // --method or --method-options was given, whatever it says.
  bool has_chosen_method = false;
  std::string served_name;    // "": the checkpoint's folder
  std::string chat_template;  // "": as the checkpoint says
  std::string api_key, api_key_file;
  std::string prefix_file, system_file;
  std::string kv_budget;  // bytes with a unit; "": see the help
  std::string scheduler = "first_come";
  std::string preemption = "recompute";
  std::string swap_budget;  // bytes with a unit; "": what memory or disk has
  std::string swap_folder;  // "": the system's for temporary files
  int32_t max_batch = 32;
  int32_t max_tokens = 0;  // of prompt and answer; 0: the model's positions
  int32_t prefill_chunk = 512;
  std::string body_limit;  // bytes with a unit; "": as server::HttpLimits
  int64_t request_timeout_s = 600;
  int64_t grace_s = 5;
  server::ServerOptions serving;
};

void add_serve_options(CLI::App& command, ServeOptions& options);

// What becomes of requests that give back their cache. Throws Error for options that do nothing.
engine::SwapOptions swap_options(const ServeOptions& options);

// The key of --api-key or --api-key-file, "": none. Throws Error for both, and for one that
// is empty or no client could send.
std::string api_key_of(const ServeOptions& options);

}  // namespace reprise::app
