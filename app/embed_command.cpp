// `reprise embed`: reads texts from standard input, writes sentence vectors to standard output.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <istream>
#include <utility>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/embed_lines.h"
#include "app/embed_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/interruptible_input.h"
#include "app/kept_calibration.h"
#include "app/method_embedder.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/base/interrupted.h"
#include "core/sentence/embedder.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/places.h"
#include "methods/registry.h"

namespace reprise::app {
namespace {

constexpr const char* kFooter =
    "A text is a line. An empty one, and one that is not UTF-8, end the command with an error that "
    "names the line; what came before is written. A text longer than the model takes is cut at the "
    "end (at the beginning if the tokenizer's truncation_side is left), and a note says how many "
    "were; if --prompt has words on that side of {text}, it is an error.\n"
    "Of a sentence-transformers folder (modules.json), pooling, normalization and the longest text "
    "are the folder's own. Of others: the mean of an encoder's states or a decoder's last one.\n"
    "--method takes a method that runs on prompts alone: `reprise list methods` shows which, and "
    "docs/embed.md what they need.";

struct EmbedCommand {
  ModelOptions model{.method = methods::kPromptMethod};
  std::string stored, training;  // files of texts for the method
  EmbedOptions embed;
  bool is_json = false;
};

// Refuses texts that the method neither stores nor learns from.
void check(const EmbedCommand& command) {
  const methods::MethodInfo& info = methods::method_named(command.model.method).info;
  if (info.uses_prompts) return;
  for (const auto& [name, file] :
       {std::pair("--stored", command.stored), std::pair("--training", command.training)})
    if (!file.empty())
      raise("{} {}: method \"{}\" uses no such texts; leave it out, or give --method: {}", name,
            file, info.name, fmt::join(methods_with(&methods::MethodInfo::uses_prompts), ", "));
}

// The method, prepared with the texts of --stored and --training. Throws ExitStatus if `stop` is
// set.
MethodEmbedder prepared(const EmbedCommand& command, std::unique_ptr<methods::Method> method,
                        sentence::Embedder& embedder, model::Decoder& decoder,
                        const Context& context, const std::atomic<bool>& stop) try {
  const auto tokens_of = [&](const std::string& file) {
    return file.empty() ? std::vector<std::vector<int32_t>>()
                        : token_lines(embedder, command.is_json, file);
  };
  const auto stored = tokens_of(command.stored), training = tokens_of(command.training);
  return {embedder,
          std::move(method),
          {.decoder = &decoder,
           .name = command.model.model,
           .weights_seed = command.model.weights_seed,
           .context = context,
           .between = interruption_of(stop)},
          {.stored = stored, .training = training}};
} catch (const Interrupted&) {
  note("interrupted before the first text\n");
  throw ExitStatus{kInterruptedStatus};
}

void print_summary(const EmbedCount& count, const sentence::Embedder& embedder,
                   const std::string& computed, double seconds) {
  if (count.cut > 0)
    note("note: {} of {} texts have more than {} tokens and were cut, the first in input line {}\n",
         count.cut, count.texts, embedder.settings().form.most_tokens, count.first_cut_line);
  note("{} texts of {} tokens in {:.3g} s; {} numbers each, {}, {}\n", count.texts, count.tokens,
       seconds, embedder.width(), embedder.settings().pooling.text(), computed);
}

void run(const EmbedCommand& command, const CommonOptions& common) {
  check(command);
  Context context = make_context(common);
  const std::string folder = experiments::resolve_model(command.model.model);
  ModelOptions options = command.model;
  options.model = sentence::model_folder_of(folder);
  const ChosenModel chosen = choose_model(options, context.device);
  const sentence::EmbedSettings settings = settings_of(command.embed, folder, chosen.config);
  auto method = make_prefill_method(options, context.device);
  const auto tokenizer = load_tokenizer(chosen.place);
  context = calibrated(std::move(context), common);
  const auto model = load_chosen(chosen, options, context);
  sentence::Embedder embedder(*model, *tokenizer, settings);
  const std::atomic<bool>& stop = watch_interrupts();
  MethodEmbedder reader = prepared(command, std::move(method), embedder, *model, context, stop);
  if (reader.method().exactness() == methods::Exactness::kApproximate)
    note("note: method \"{}\" is approximate: vectors differ from those of the model alone\n",
         reader.method().info().name);
  InterruptibleInput input(STDIN_FILENO, stop);
  std::istream in(&input);
  const int64_t start = experiments::now_ns();
  const EmbedCount count =
      embed_lines(reader, command.is_json, in, write_output, flush_output, stop);
  print_summary(
      count, embedder,
      fmt::format("computed in {} ({}), {} in {}", name_of(chosen.dtype), chosen.dtype_reason,
                  weight_memory_text(*model), name_of(model->weight_format())),
      static_cast<double>(experiments::now_ns() - start) / 1e9);
  note("{}", summary_of(reader, chosen.config.layers));
  if (stop) throw ExitStatus{kInterruptedStatus};
}

}  // namespace

void add_embed_command(CLI::App& app) {
  auto options = std::make_shared<EmbedCommand>();
  CLI::App* command = app.add_subcommand(
      "embed", "Turn texts on standard input into sentence vectors, a JSON array a line");
  add_weight_options(*command, "--seed", options->model);
  add_pooling_options(*command, options->embed);
  command
      ->add_option("--prompt", options->embed.prompt,
                   "words around each text, which goes where {text} stands: 'query: {text}'")
      ->check(not_empty());
  command
      ->add_option("--max-tokens", options->embed.max_tokens,
                   "longest text, special tokens included (default: the folder's limit, else the "
                   "model's positions)")
      ->check(integer_within(1, int64_t{1} << 31));
  command->add_flag("--json-lines", options->is_json,
                    "lines are JSON strings, or objects with one under \"text\": texts may then "
                    "hold line breaks");
  add_method_options(*command, options->model);
  command
      ->add_option("--stored", options->stored,
                   "file of texts that the method may store, in the form of the input; "
                   "docs/embed.md says which method uses them")
      ->check(not_empty());
  command
      ->add_option("--training", options->training,
                   "file of texts that the method may learn from, in the form of the input; "
                   "docs/embed.md says which method uses them")
      ->check(not_empty());
  const auto common = add_computing_options(*command);
  command->footer(kFooter);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
