#include "app/serve_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/number_option.h"
#include "app/unit_option.h"
#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/temporary_file.h"
#include "core/engine/scheduler.h"
#include "core/engine/swap_space.h"
#include "core/tokenizer/chat_template.h"

namespace reprise::app {
namespace {

constexpr size_t kMostKeyBytes = 4096;
constexpr int64_t kMostSeconds = 7 * 86400;

void add_address_options(CLI::App& command, ServeOptions& options) {
  server::ServerOptions& serving = options.serving;
  command
      .add_option("--host", serving.host,
                  "address to listen on (default: 127.0.0.1, this machine alone)")
      ->check(not_empty());
  command.add_option("--port", serving.port, "0 takes one that is free (default: 8000)")
      ->check(integer_within(0, 65535));
  command
      .add_option("--api-key", options.api_key,
                  "ask for this key, which other users see in the list of processes")
      ->check(not_empty());
  command
      .add_option("--api-key-file", options.api_key_file,
                  "ask for the key in this file, which they do not")
      ->check(not_empty());
  command
      .add_option("--served-model-name", options.served_name,
                  "the model's name in the API (default: its folder's)")
      ->check(not_empty());
  command
      .add_option("--chat-template", options.chat_template,
                  fmt::format("how conversations are written: {} (default: as the checkpoint)",
                              fmt::join(tokenizer::chat_template_names(), ", ")))
      ->check(not_empty());
}

void add_engine_options(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--prefix-file", options.prefix_file,
                  "a text that many prompts begin with: computed once, at the start")
      ->check(not_empty());
  command
      .add_option("--system-prompt-file", options.system_file,
                  "the same for the system message of chats")
      ->check(not_empty());
  command
      .add_option(
          "--kv-budget", options.kv_budget,
          "memory for keys and values, such as 2GiB (default: what --max-batch sequences of "
          "--max-tokens take, but at most half of what is free)")
      ->check(not_empty());
  command.add_option("--max-batch", options.max_batch, "sequences at once (default: 32)")
      ->check(integer_within(1, 4096));
  command
      .add_option(
          "--max-tokens", options.max_tokens,
          "most tokens of a prompt with its answer, or of a text to embed (default: the model's "
          "positions, or 4096 where it has more)")
      ->check(integer_within(2, 1 << 24));
  command
      .add_option("--prefill-chunk", options.prefill_chunk,
                  "prefill budget: most tokens of a step (default: 512)")
      ->check(integer_within(1, 1 << 20));
  command
      .add_option("--scheduler", options.scheduler,
                  fmt::format("who runs first: {} (default: first_come)",
                              fmt::join(engine::known_schedulers(), ", ")))
      ->check(not_empty());
}

void add_preemption_options(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--preemption", options.preemption,
                  fmt::format("what becomes of requests that give back their keys and values for "
                              "others: {} (default: recompute)",
                              fmt::join(engine::known_preemptions(), ", ")))
      ->check(not_empty());
  command
      .add_option("--swap-budget", options.swap_budget,
                  "that swapped ones may take, such as 2GiB (default: what memory or disk has)")
      ->check(not_empty());
  command
      .add_option("--swap-dir", options.swap_folder,
                  "folder for swap_disk (default: the system's for temporary files)")
      ->check(not_empty());
}

void add_limit_options(CLI::App& command, ServeOptions& options) {
  server::ServerOptions& serving = options.serving;
  command
      .add_option(
          "--max-requests", serving.service.most_requests,
          "requests at once, waiting and running; more are told to come back (default: 256)")
      ->check(integer_within(1, 1 << 20));
  command.add_option("--max-connections", serving.http.most_connections, "at once (default: 1024)")
      ->check(integer_within(1, 1 << 16));
  command
      .add_option("--max-body", options.body_limit, "of a request, such as 2MiB (default: 2MiB)")
      ->check(not_empty());
  command
      .add_option("--request-timeout", options.request_timeout_s,
                  "seconds from a request to the end of its answer (default: 600)")
      ->check(integer_within(1, kMostSeconds));
  command
      .add_option("--grace", options.grace_s,
                  "seconds that answers under way have left once the server is told to end "
                  "(default: 5)")
      ->check(integer_within(0, kMostSeconds));
  command
      .add_option("--trace", options.trace,
                  "file that gets what was served as trace events, for Perfetto, once the server "
                  "has ended")
      ->check(not_empty());
}

void add_embedding_options(CLI::App& command, ServeOptions& options) {
  command.add_flag("--embeddings", options.makes_vectors,
                   "serve sentence vectors instead of generated text (default: only of encoders)");
  add_pooling_options(command, options.embed);
}

std::vector<std::string> given(const CLI::App& command, std::initializer_list<const char*> names) {
  std::vector<std::string> found;
  for (const char* name : names)
    if (command.count(name) > 0) found.emplace_back(name);
  return found;
}

}  // namespace

void note_given_options(const CLI::App& command, ServeOptions& options) {
  options.has_chosen_method = command.count("--method") + command.count("--method-options") > 0;
  options.for_generation =
      given(command, {"--method", "--method-options", "--kv-dtype", "--schema", "--chat-template",
                      "--prefix-file", "--system-prompt-file", "--kv-budget", "--max-batch",
                      "--prefill-chunk", "--scheduler", "--preemption", "--swap-budget",
                      "--swap-dir", "--trace", "--batch-invariant"});
  options.for_embedding = given(command, {"--pooling", "--normalize"});
}

void add_serve_options(CLI::App& command, ServeOptions& options) {
  add_model_options(command, "--weights-seed", options.model);
  add_batch_invariant_option(command, options.model);
  add_schema_option(command, options.model);
  add_address_options(command, options);
  add_engine_options(command, options);
  add_preemption_options(command, options);
  add_embedding_options(command, options);
  add_limit_options(command, options);
}

engine::SwapOptions swap_options(const ServeOptions& options) {
  using engine::Preemption;
  engine::SwapOptions made{.preemption = engine::parse_preemption(options.preemption)};
  if (!options.swap_budget.empty()) {
    if (made.preemption == Preemption::kRecompute)
      raise("--swap-budget: nothing is swapped; give --preemption swap_host or swap_disk too");
    made.most_bytes = parse_bytes(options.swap_budget, "--swap-budget");
    if (made.most_bytes == 0) raise("--swap-budget is 0: leave --preemption out instead");
  }
  if (!options.swap_folder.empty() && made.preemption != Preemption::kSwapDisk)
    raise("--swap-dir: nothing is written there; give --preemption swap_disk too");
  if (made.preemption == Preemption::kSwapDisk)
    made.folder = options.swap_folder.empty() ? temporary_folder()
                                              : std::filesystem::path(options.swap_folder);
  made.folder_option = "--swap-dir";
  (void)engine::SwapSpace(made);  // throws if the folder cannot be written
  return made;
}

std::string api_key_of(const ServeOptions& options) {
  if (!options.api_key.empty() && !options.api_key_file.empty())
    raise("give one of --api-key and --api-key-file");
  if (options.api_key_file.empty()) return options.api_key;
  const std::string text = read_file(options.api_key_file, kMostKeyBytes);
  std::string key(without_byte_order_mark(text));
  key.erase(key.find_last_not_of(" \r\n") + 1);
  if (key.empty()) raise("--api-key-file {} is empty: put a key into it", options.api_key_file);
  return key;
}

}  // namespace reprise::app
