// What the commands that run one model take alike: the model, its number formats, the method, and
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
#include "methods/method.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
class Option;
}  // namespace CLI

namespace reprise::app {

struct ModelOptions {
  std::string model;
  std::string method = "contiguous", method_options;
  std::string schema;  // file whose modules prompts import; "": prompts are plain
  std::string dtype, kv_dtype, weight_format;  // "": see ChosenModel
  bool random_weights = false;
  uint64_t weights_seed = 1;
};

// --model, --dtype and random weights; `seed_option` is the command's name for their seed.
void add_weight_options(CLI::App& command, const char* seed_option, ModelOptions& options);
// --method and --method-options. Returns the first, which tells whether it was given.
CLI::Option* add_method_options(CLI::App& command, ModelOptions& options);
// --model and the others of add_weight_options(), the method, and --kv-dtype, for a model that
// generates.
void add_model_options(CLI::App& command, const char* seed_option, ModelOptions& options);

// --schema, for commands whose prompts are text.
void add_schema_option(CLI::App& command, ModelOptions& options);

// A model whose config.json was read, before its weights are.
struct ChosenModel {
  std::string place;  // for load_decoder()
  model::ModelConfig config;
  // Of weights and activations: what --dtype says, else that of the checkpoint, or f32 for one in
  // f16, in which a CPU computes nothing.
  DType dtype = DType::kF32;
  DType kv_dtype = DType::kF32;                    // what --kv-dtype says, else as above
  std::string dtype_reason;                        // "as the checkpoint", ...
  std::optional<WeightFormat> weight_format = {};  // what --weight-format says

  // "computed in bf16 (as the checkpoint), weights in int4, keys and values in f32"
  [[nodiscard]] std::string dtype_text() const;
};
// `device`: where it will run.
ChosenModel choose_model(const ModelOptions& options, Device device);

// "weights 512 MiB": as the decoder holds them.
[[nodiscard]] std::string weight_memory_text(const model::Decoder& decoder);

std::unique_ptr<model::Decoder> load_chosen(const ChosenModel& chosen, const ModelOptions& options,
                                            const Context& context);
// The method that --method names, for a model on `device`. Throws Error, with the reason, for one
// that generates nothing, for one that cannot run so, and for --schema with one that reads none.
std::unique_ptr<methods::Method> make_chosen_method(const ModelOptions& options, Device device);
// The same for prompts that nothing is generated behind. Throws Error, with the reason, also for a
// method that this program lacks a part of.
std::unique_ptr<methods::Method> make_prefill_method(const ModelOptions& options, Device device);

// The schema that --schema names, for Use::markup; nullopt without it. `tokenizer` must outlive it.
std::optional<methods::Markup> chosen_markup(const ModelOptions& options, const ChosenModel& chosen,
                                             const Tokenizer& tokenizer);

// The prompt as the method reads its markup, or as the plain tokens of `text`.
engine::Request read_prompt(const methods::Method& method, const Tokenizer& tokenizer,
                            const std::string& text, const std::string& source);

// --ids or --ids-file.
struct IdOptions {
  std::string ids, file;
  CLI::Option* ids_option = nullptr;  // tells an empty list from none
};
void add_id_options(CLI::App& command, const char* help, IdOptions& options);
// Whether either was given.
[[nodiscard]] bool has_ids(const IdOptions& options);
// The ids, all of the model's vocabulary. Throws Error for both options, an empty list, and as
// parse_token_ids().
std::vector<int32_t> read_ids(const IdOptions& options, const model::ModelConfig& config);

// A file's text, or that of standard input for "-". Throws Error where it is larger than 64 MiB.
std::string read_text(const std::string& file);

// Rotary models know no positions beyond those they were trained for. Throws Error for `length`
// (the largest position + 1) beyond: "`what` takes ... positions, model ... places at most ...".
void require_positions(const model::ModelConfig& config, int64_t length, const std::string& what,
                       const std::string& remedy);
// Positions that may follow `length`; INT64_MAX where there is no end.
[[nodiscard]] int64_t positions_left(const model::ModelConfig& config, int64_t length);

}  // namespace reprise::app
