#include "experiments/kinds/latency/use_case.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "core/base/error.h"
#include "core/model/config/config.h"
#include "experiments/kinds/shared/places.h"

namespace reprise::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShippedCases = "use_cases";
constexpr const char* kPmlFile = "pml";
constexpr const char* kOfFile = "of_file";
constexpr const char* kOwnTokenizer = "own";
constexpr const char* kLenient = "lenient";
constexpr const char* kQuickstart = "quickstart";
constexpr std::string_view kPromptEnding = ".prompt.xml";

Words use_case_names() {
  return {{kOfFile, "code", "personal", "travel", "game", "education", "trip"}};
}

std::string shipped_file(const std::string& chosen, std::string_view ending) {
  return resolve_path("experiments/prompt_cache/pml/" + chosen + std::string(ending));
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The schema file of a use case: from the workload's folder, or else the shipped one.
std::string schema_of_case(const std::string& folder, const std::string& chosen) {
  if (chosen == kOfFile)
    raise("workload use_cases has several: choose one with use_case, {}",
          fmt::join(use_case_names().names, ", "));
  if (!folder.empty()) return resolve_path(folder + "/" + chosen + std::string(kSchemaEnding));
  std::string shipped = shipped_file(chosen, kSchemaEnding);
  if (!is_file(shipped))
    raise(
        "the schema of use_case {} is the Prompt Cache authors' and does not come with the "
        "program: "
        "reprise data get prompt-cache-schemas, then --set workload.file=prompt_cache_schemas",
        chosen);
  return shipped;
}

// The file of the group's schema.
std::string schema_of(const Group& group, const std::string& chosen) {
  const std::string& file = group.workload.file;
  if (group.workload.name == kShippedCases) return schema_of_case(file, chosen);
  if (chosen != kOfFile)
    raise("use_case is {}, and the workload's file is {}: leave one of them out", chosen, file);
  return resolve_path(file);
}

std::string require_file(const std::string& path, std::string_view what) {
  if (!is_file(path)) raise("there is no {}, which has the {}", path, what);
  return path;
}

// The prompt's file in the folder of the schema's file. The schemas of Prompt Cache's authors have
// no such file, so their prompts are shipped.
std::string prompt_of(const std::string& schema, const std::string& chosen) {
  std::string beside = prompt_beside(schema);
  if (beside.empty())
    raise("{} is no schema's file: its name must end in {}, with the prompt beside it in {}",
          schema, kSchemaEnding, kPromptEnding);
  if (chosen != kOfFile && !is_file(beside)) return shipped_file(chosen, kPromptEnding);
  return beside;
}

}  // namespace

PmlFiles use_case_files(const Group& group) {
  const auto axes = group.axes_as<PmlAxes>();
  const std::string schema = require_file(schema_of(group, axes.use_case), "schema");
  const std::string prompt = prompt_of(schema, axes.use_case);
  const bool is_own = axes.tokenizer == kOwnTokenizer;
  return {.schema = schema,
          .prompt = require_file(prompt, "prompt derived from it"),
          .model = group.model.model,
          .tokenizer = is_own ? "" : kQuickstart,
          .chat_template = "",
          .is_as_coded = false,
          .is_lenient = axes.reading == kLenient,
          .has_random_weights = group.model.random_weights};
}

namespace {

// Throws Error if the model is a shipped shape, which has no folder and therefore no tokenizer.
void require_tokenizer(const PmlFiles& files) {
  std::error_code error;
  if (files.tokenizer.empty() && !fs::is_directory(resolve_model(files.model), error))
    raise(
        "model {} is a shape without a tokenizer, which a schema's texts need: name a folder with "
        "one, or take that of quickstart (--set settings.tokenizer=quickstart)",
        files.model);
}

}  // namespace

std::vector<workloads::WorkloadInfo> use_case_workloads() {
  return {{.name = kShippedCases,
           .summary = "a schema and its prompt, chosen by use_case, that come with the program or "
                      "are in the folder that is the file",
           .takes_file = true,
           .file_is_optional = true},
          {.name = kPmlFile,
           .summary = "NAME.schema.xml, with NAME.prompt.xml beside it",
           .takes_file = true}};
}

void PmlAxes::visit(AxisVisitor& visitor) {
  visitor.word({"use_case", "",
                "of workload use_cases: source files as modules, traits in unions, a journey with "
                "parameters; game, education, trip: the same in the authors' schemas; of_file: the "
                "workload's file"},
               use_case_names(), use_case);
  visitor.integer(
      {"new_tokens", "tokens", "tokens to generate, the first included; none ends the text"},
      {1, kMostNewTokens}, new_tokens);
  visit_prefill_chunk(visitor);
  visitor.word({"tokenizer", "",
                "that makes the tokens: the model's own, or that of models/quickstart for shapes "
                "without one, which cuts texts into more tokens than a vocabulary of 32,000 does"},
               {{kOwnTokenizer, kQuickstart}}, tokenizer);
  visitor.word({"reading", "",
                "of the markup: strict, or lenient, which takes a < that begins no tag as text",
                /*came_later=*/true},
               {{"strict", kLenient}}, reading);
}

std::string prompt_beside(const std::string& schema) {
  if (!schema.ends_with(kSchemaEnding)) return "";
  return schema.substr(0, schema.size() - kSchemaEnding.size()) + std::string(kPromptEnding);
}

CompiledPml load_use_case(const Group& group, bool is_as_coded) {
  PmlFiles files = use_case_files(group);
  files.is_as_coded = is_as_coded;
  require_tokenizer(files);
  CompiledPml out = compile_pml(files);
  const model::ModelConfig config = model::load_config(resolve_model(files.model));
  if (out.tokenizer->vocab_size() > config.vocab)
    raise("the tokenizer of {} makes ids up to {}, and model {} has a vocabulary of {}",
          files.tokenizer.empty() ? files.model : files.tokenizer, out.tokenizer->vocab_size() - 1,
          config.name, config.vocab);
  return out;
}

}  // namespace reprise::experiments
