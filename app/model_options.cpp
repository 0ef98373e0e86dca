#include "app/model_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "app/number_option.h"
#include "app/token_ids.h"
#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/tokenizer/utf8.h"
#include "experiments/kinds/shared/places.h"
#include "methods/registry.h"
#include "results/record.h"
#include "results/table.h"

namespace reprise::app {
namespace {

constexpr size_t kMostTextBytes = size_t{64} << 20;

// Reads from where standard input is now. To open /dev/stdin would begin a file anew, and is
// refused for a socket.
std::string read_standard_input() {
  std::string text;
  std::string piece(size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) raise("cannot read standard input: {}", std::strerror(errno));
    text.append(piece, 0, static_cast<size_t>(count));
    if (text.size() > kMostTextBytes)
      raise("standard input is larger than the {} bytes allowed here", kMostTextBytes);
  }
}

void require_runs(const methods::MethodInfo& info, const std::string& refusal) {
  if (!refusal.empty()) raise("method \"{}\" does not run here: {}", info.name, refusal);
}

// Throws Error if the method with the `given` options is not batch-invariant.
void require_batch_invariance(const methods::MethodInfo& info, const Fields& given) {
  const std::string reason =
      info.is_cache ? methods::make_cache(info.name, given)->why_not_batch_invariant()
                    : "it is more than a cache, and the promise is for attention over a sequence's "
                      "own keys in every layer";
  if (!reason.empty())
    raise(
        "method \"{}\" cannot be --batch-invariant: {}; leave the option out, or take --method {}",
        info.name, reason, methods::kServedMethod);
}

}  // namespace

void add_weight_options(CLI::App& command, const char* seed_option, ModelOptions& options) {
  command
      .add_option("--model", options.model,
                  "folder of a checkpoint, or the name of a shipped model or shape")
      ->required()
      ->check(not_empty());
  command
      .add_option("--dtype", options.dtype,
                  "of weights and activations: f32 or bf16 (default: as the checkpoint)")
      ->check(dtype_name());
  command
      .add_option("--weight-format", options.weight_format,
                  "how the layers' matrices are held: int8, int4, nf4 or nf4-double, beside "
                  "either dtype (default: as --dtype)")
      ->check(weight_format_name());
  command.add_flag("--random-weights", options.random_weights,
                   "make weights instead of loading them");
  command.add_option(seed_option, options.weights_seed, "of random weights (default: 1)")
      ->check(seed_number());
}

CLI::Option* add_method_options(CLI::App& command, ModelOptions& options) {
  CLI::Option* method = command
                            .add_option("--method", options.method,
                                        fmt::format("reuse method (default: {})", options.method))
                            ->check(not_empty());
  command.add_option("--method-options", options.method_options, "its options, a JSON object")
      ->check(not_empty());
  return method;
}

void add_model_options(CLI::App& command, const char* seed_option, ModelOptions& options) {
  add_weight_options(command, seed_option, options);
  (void)add_method_options(command, options);
  command
      .add_option("--kv-dtype", options.kv_dtype,
                  "of cached keys and values: f32, bf16 or f16 (default: as --dtype)")
      ->check(dtype_name());
}

void add_batch_invariant_option(CLI::App& command, ModelOptions& options) {
  command.add_flag("--batch-invariant", options.is_batch_invariant,
                   "the same bits for a prompt whatever else is computed beside it, found in the "
                   "cache or cut into chunks; slower (docs/engine.md)");
}

void add_schema_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--schema", options.schema,
                  fmt::format("file of a schema whose modules prompts import, written in its "
                              "markup (docs/pml.md); other prompts are plain text (--method {})",
                              fmt::join(methods_with(&methods::MethodInfo::reads_markup), ", ")))
      ->check(not_empty());
}

Fields given_method_options(const ModelOptions& options) {
  if (options.method_options.empty()) return {};
  const Value given = parse_json(options.method_options, "--method-options");
  if (!given.is_fields())
    raise("--method-options takes a JSON object, such as '{{\"block_tokens\": 16}}', found {}",
          shown(given));
  return given.fields();
}

std::vector<std::string> methods_with(bool methods::MethodInfo::*flag) {
  std::vector<std::string> names;
  for (const methods::MethodEntry& entry : methods::known_methods())
    if (entry.info.*flag) names.push_back(entry.info.name);
  return names;
}

std::string ChosenModel::dtype_text() const {
  const std::string weights =
      weight_format ? fmt::format(", weights in {}", name_of(*weight_format)) : "";
  return fmt::format("computed in {} ({}){}, keys and values in {}", name_of(dtype), dtype_reason,
                     weights, name_of(kv_dtype));
}

std::string weight_memory_text(const model::Decoder& decoder) {
  return fmt::format("weights {} MiB",
                     results::short_number(static_cast<double>(decoder.weight_bytes()) / 0x1p20));
}

ChosenModel choose_model(const ModelOptions& options, Device device) {
  ChosenModel chosen;
  chosen.place = experiments::resolve_model(options.model);
  chosen.config = model::load_config(chosen.place);
  const DType stored = chosen.config.stored_dtype;
  if (!options.dtype.empty()) {
    chosen.dtype = parse_dtype(options.dtype);
    chosen.dtype_reason = "by --dtype";
  } else if (stored == DType::kF16 && device == Device::kCpu) {
    chosen.dtype = DType::kF32;
    chosen.dtype_reason = "the checkpoint is in f16, in which a CPU computes nothing";
  } else {
    chosen.dtype = stored;
    chosen.dtype_reason = "as the checkpoint";
  }
  if (!options.weight_format.empty())
    chosen.weight_format = parse_weight_format(options.weight_format);
  chosen.kv_dtype = options.kv_dtype.empty() ? chosen.dtype : parse_dtype(options.kv_dtype);
  return chosen;
}

std::unique_ptr<model::Decoder> load_chosen(const ChosenModel& chosen, const ModelOptions& options,
                                            const Context& context) {
  return model::load_decoder(chosen.place,
                             {.dtype = chosen.dtype,
                              .weight_format = chosen.weight_format,
                              .random_weights = options.random_weights,
                              .seed = options.weights_seed},
                             context);
}

std::unique_ptr<methods::Method> make_chosen_method(const ModelOptions& options, Device device) {
  const Fields given = given_method_options(options);
  const methods::MethodInfo& info = methods::method_named(options.method).info;
  require_runs(info, info.cannot_generate);
  if (!options.schema.empty() && !info.reads_markup)
    raise("--schema {}: method \"{}\" reads no schemas; leave --schema out, or take one of {}",
          options.schema, info.name,
          fmt::join(methods_with(&methods::MethodInfo::reads_markup), ", "));
  if (options.is_batch_invariant) require_batch_invariance(info, given);
  auto method = methods::make_method(options.method, given);
  method->check({.device = device});
  return method;
}

std::unique_ptr<methods::Method> make_prefill_method(const ModelOptions& options, Device device) {
  const Fields given = given_method_options(options);
  const methods::MethodInfo& info = methods::method_named(options.method).info;
  require_runs(info, info.cannot_prefill);
  auto method = methods::make_method(options.method, given);
  require_runs(info, method->missing());
  method->check({.device = device});
  return method;
}

std::optional<methods::Markup> chosen_markup(const ModelOptions& options, const ChosenModel& chosen,
                                             const Tokenizer& tokenizer) {
  if (options.schema.empty()) return std::nullopt;
  return methods::Markup{.schema = options.schema,
                         .model = chosen.place,
                         .chat_template = "",
                         .has_random_weights = options.random_weights,
                         .tokenizer = &tokenizer};
}

engine::Request read_prompt(const methods::Method& method, const Tokenizer& tokenizer,
                            const std::string& text, const std::string& source) {
  if (std::optional<engine::Request> marked = method.read(text, source)) return *marked;
  tokenizer::require_utf8(text, source);
  engine::Request request;
  request.prompt = tokenizer.encode(text);
  return request;
}

void add_id_options(CLI::App& command, const char* help, IdOptions& options) {
  options.ids_option = command.add_option("--ids", options.ids, help);
  command
      .add_option("--ids-file", options.file,
                  "file with the ids, separated by white space or commas; - is standard input")
      ->check(not_empty());
}

bool has_ids(const IdOptions& options) {
  return options.ids_option->count() > 0 || !options.file.empty();
}

std::vector<int32_t> read_ids(const IdOptions& options, const model::ModelConfig& config) {
  const bool is_listed = options.ids_option->count() > 0;
  if (is_listed == !options.file.empty())
    raise("give the token ids by one of --ids 3,4,5 and --ids-file FILE");
  const std::string source = is_listed ? "--ids" : "--ids-file " + options.file;
  const std::vector<int32_t> ids =
      parse_token_ids(is_listed ? options.ids : read_text(options.file), source);
  if (ids.empty()) raise("{} is empty: give token ids such as 3,4,5", source);
  require_in_vocabulary(ids, config.vocab, config.name, source);
  return ids;
}

std::string read_text(const std::string& file) {
  std::string text = file == "-" ? read_standard_input() : read_file(file, kMostTextBytes);
  tokenizer::require_utf8(text, file == "-" ? "standard input" : file);
  return text;
}

std::string read_prompt_text(const std::string& file, const model::ModelConfig& config) {
  // The limit is many times the length of common tokens for each position, and at least
  // kLeastBytes, so that a page of blanks is not refused.
  constexpr int64_t kBytesPerToken = 64, kLeastBytes = int64_t{1} << 20;
  std::string text(without_byte_order_mark(read_text(file)));
  const int64_t limit = config.position_limit();
  if (limit >= static_cast<int64_t>(kMostTextBytes) / kBytesPerToken) return text;
  const int64_t most = std::max(kLeastBytes, limit * kBytesPerToken);
  if (std::ssize(text) > most)
    raise(
        "{} has {} bytes, model {} places at most {} tokens and takes at most {} bytes; shorten it",
        file, text.size(), config.name, limit, most);
  return text;
}

void require_positions(const model::ModelConfig& config, int64_t length, const std::string& what,
                       const std::string& remedy) {
  if (length > config.position_limit())
    raise("{} takes {} positions, model {} places at most {} tokens; {}", what, length, config.name,
          config.position_limit(), remedy);
}

int64_t positions_left(const model::ModelConfig& config, int64_t length) {
  constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  return config.position_limit() == kNoEnd ? kNoEnd : config.position_limit() - length;
}

}  // namespace reprise::app
