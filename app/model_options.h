// Options shared by the commands that run one model: the model, its number formats, the method, and
// token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/weight_format.h"
#include "core/device/context.h"
#include "core/model/config/config.h"
#include "core/model/network/decoder.h"
#include "core/tokenizer/tokenizer.h"
#include "methods/registry.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
class Option;
}  // namespace CLI

namespace reprise::app {

struct ModelOptions {
  std::string model;
  std::string method = methods::kReferenceMethod, method_options;
  std::string schema;  // file with modules that prompts may import; "": plain prompts
  std::string dtype, kv_dtype, weight_format;  // "": see ChosenModel
  bool random_weights = false;
  uint64_t weights_seed = 1;
  bool is_batch_invariant = false;  // see Context
};

// The JSON object of --method-options; an empty one without it. Throws Error for other JSON.
[[nodiscard]] Fields given_method_options(const ModelOptions& options);

// Names of the methods whose MethodInfo has `flag` set, listed for a message.
[[nodiscard]] std::vector<std::string> methods_with(bool methods::MethodInfo::*flag);

// Adds --model, --dtype, --weight-format, --random-weights, and the option named `seed_option`,
// which sets the seed of random weights.
void add_weight_options(CLI::App& command, const char* seed_option, ModelOptions& options);
// Adds --method and --method-options. Returns --method, whose count() is 0 if it was not given.
CLI::Option* add_method_options(CLI::App& command, ModelOptions& options);
// Adds the options of a command whose model generates: those of add_weight_options() and
// add_method_options(), and --kv-dtype.
void add_model_options(CLI::App& command, const char* seed_option, ModelOptions& options);

// Adds --batch-invariant, for commands that set Context::is_batch_invariant from the option.
void add_batch_invariant_option(CLI::App& command, ModelOptions& options);

// Adds --schema, for commands whose prompts are text.
void add_schema_option(CLI::App& command, ModelOptions& options);

// A model whose config.json has been read. Its weights are loaded by load_chosen().
struct ChosenModel {
  std::string place;  // argument of load_decoder()
  model::ModelConfig config;
  // The dtype of weights and activations: from --dtype, otherwise the checkpoint's. A checkpoint in
  // f16 gets f32 on the CPU, which does not compute in f16.
  DType dtype = DType::kF32;
  DType kv_dtype = DType::kF32;                    // from --kv-dtype, otherwise `dtype`
  std::string dtype_reason;                        // "as the checkpoint", ...
  std::optional<WeightFormat> weight_format = {};  // from --weight-format

  // "computed in bf16 (as the checkpoint), weights in int4, keys and values in f32"
  [[nodiscard]] std::string dtype_text() const;
};
// Chooses the dtypes for a model that will run on `device`.
ChosenModel choose_model(const ModelOptions& options, Device device);

// The memory of the decoder's weights in the form they are held, for example "weights 512 MiB".
[[nodiscard]] std::string weight_memory_text(const model::Decoder& decoder);

std::unique_ptr<model::Decoder> load_chosen(const ChosenModel& chosen, const ModelOptions& options,
                                            const Context& context);
// Makes the method that --method names, for a model on `device`. Throws Error with the reason if
// the method cannot generate or cannot run on `device`, if --batch-invariant is given and the
// method cannot be batch-invariant, and if --schema is given and the method reads no markup.
std::unique_ptr<methods::Method> make_chosen_method(const ModelOptions& options, Device device);
// Like make_chosen_method(), but for a command that only prefills prompts. Also throws Error, with
// the reason, if the method needs a library that this build lacks.
std::unique_ptr<methods::Method> make_prefill_method(const ModelOptions& options, Device device);

// The schema of --schema, for Use::markup; nullopt if there is none. `tokenizer` must outlive it.
std::optional<methods::Markup> chosen_markup(const ModelOptions& options, const ChosenModel& chosen,
                                             const Tokenizer& tokenizer);

// Makes the request of a prompt. If the method reads markup and `text` is markup, the method reads
// the prompt; otherwise the prompt has the plain tokens of `text`.
engine::Request read_prompt(const methods::Method& method, const Tokenizer& tokenizer,
                            const std::string& text, const std::string& source);

// Options --ids and --ids-file.
struct IdOptions {
  std::string ids, file;
  CLI::Option* ids_option = nullptr;  // shows whether --ids was given, even with ""
};
void add_id_options(CLI::App& command, const char* help, IdOptions& options);
// True if either option was given.
[[nodiscard]] bool has_ids(const IdOptions& options);
// The ids, all within the model's vocabulary. Throws Error if both options or neither are given,
// for an empty list, and as parse_token_ids().
std::vector<int32_t> read_ids(const IdOptions& options, const model::ModelConfig& config);

// The text of a file, or of standard input for "-". Throws Error if it is larger than 64 MiB or not
// valid UTF-8.
std::string read_text(const std::string& file);
// read_text() for the file of a prompt. Also throws Error for a text that is far longer than the
// model's positions, because tokenizing would take hundreds of bytes of memory per byte of text.
std::string read_prompt_text(const std::string& file, const model::ModelConfig& config);

// Throws Error if `length` (the largest position + 1) is beyond the positions that the model has:
// "`what` takes ... positions, model ... places at most ...; `remedy`".
void require_positions(const model::ModelConfig& config, int64_t length, const std::string& what,
                       const std::string& remedy);
// Number of positions after `length` that the model has; INT64_MAX if there is no limit.
[[nodiscard]] int64_t positions_left(const model::ModelConfig& config, int64_t length);

}  // namespace reprise::app
