#include "experiments/kinds/accuracy.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/kv/segment_store.h"
#include "experiments/kinds/costs.h"
#include "experiments/kinds/item_outcome.h"
#include "experiments/kinds/item_prompt.h"
#include "experiments/kinds/prompt_runner.h"
#include "experiments/kinds/question_files.h"
#include "experiments/kinds/shared_info.h"
#include "methods/prompt_cache/prompt_cache.h"
#include "workloads/questions/item_file.h"

namespace reprise::experiments {
namespace {

namespace cache = prompt_cache;
using workloads::questions::Item;

constexpr const char* kBaseline = "baseline";

std::vector<OwnMethod> modes() {
  return {{kBaseline, "the whole prompt computed, nothing imported"},
          {"isolated", "each module's tokens see those of the module alone"},
          {"joint", "each module's tokens see all that stands before them"},
          {"scaffold", "isolated, and the sets of \"scaffold\" together"},
          {"repair", "isolated, and the tokens that deviate most computed again"}};
}

template <size_t kCount>
Words words(const char* const (&names)[kCount]) {
  return {{std::begin(names), std::end(names)}};
}

// The value of an axis of words as the enum whose names they are.
template <typename Enum, size_t kCount>
Enum enum_axis(const Group& group, const char* axis, const char* const (&names)[kCount]) {
  const auto found = std::find(std::begin(names), std::end(names), group.word_axis(axis));
  REPRISE_CHECK(found != std::end(names), "{} {}", axis, group.word_axis(axis));
  return static_cast<Enum>(found - std::begin(names));
}

std::vector<std::string> task_names() {
  std::vector<std::string> names = {"all"};
  for (const std::string_view task : workloads::questions::item_tasks()) names.emplace_back(task);
  return names;
}

// A group's questions as its model's tokens.
struct Questions {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<Item> items;
  std::vector<ItemPrompt> prompts;  // of items

  // What a question takes at most: all tokens of its prompt, and those behind it.
  [[nodiscard]] int64_t longest() const {
    int64_t most = 0;
    for (size_t i = 0; i < items.size(); ++i)
      most = std::max(most, prompts[i].tokens() +
                                std::max(items[i].most_answer_tokens, prompts[i].longest_choice()));
    return most;
  }
};

Questions questions_of(const Group& group) {
  const model::ModelConfig config = Bench::config(group);
  Questions out{.tokenizer = load_tokenizer(resolve_model(group.model.model)),
                .items = load_questions(group.workload, {.task = group.word_axis("task"),
                                                         .items = group.axis("items"),
                                                         .shots = group.axis("shots"),
                                                         .documents = group.axis("documents"),
                                                         .seed = group.seeds.prompts}),
                .prompts = {}};
  const pml::TextEncoder encoder = pml::encoder_of(*out.tokenizer);
  const ItemLayout layout{
      .grouping = enum_axis<workloads::questions::Grouping>(group, "grouping",
                                                            workloads::questions::kGroupingNames),
      .scaffolds = enum_axis<ScaffoldSets>(group, "scaffold", kScaffoldSetNames)};
  for (const Item& item : out.items)
    out.prompts.push_back(compile_item(item, layout, *out.tokenizer, encoder));
  return out;
}

void check_methods(const Group& group) {
  std::vector<std::string> known;
  for (const OwnMethod& mode : modes()) known.push_back(mode.name);
  for (const MethodChoice& method : group.methods)
    if (std::find(known.begin(), known.end(), method.name) == known.end())
      raise("kind accuracy compares ways to encode modules, and {} is none: {}", method.name,
            unknown_name("mode", method.name, known));
}

void check_length(const model::ModelConfig& config, int64_t tokens) {
  if (!can_place(config, tokens))
    raise(
        "model {} places at most {} tokens, and a question with its answer takes {}: ask about "
        "fewer documents, or fewer examples",
        config.name, config.max_positions, tokens);
}

// Asks one question in one way after another.
class Interview {
 public:
  Interview(const Group& group, const Questions& questions, model::Decoder& decoder,
            const Context& context)
      : group_(group),
        questions_(questions),
        decoder_(decoder),
        context_(context),
        encode_{.kv_dtype = group.kv_dtype,
                .step_tokens = static_cast<int32_t>(group.axis("prefill_chunk"))},
        store_({.host_bytes = store_bytes(group, questions, decoder.config())}),
        runner_(context, decoder,
                {.kv_dtype = group.kv_dtype,
                 .step_tokens = encode_.step_tokens,
                 .max_sequence_tokens = static_cast<int32_t>(questions.longest()),
                 .stop_ids = {decoder.config().eos_ids.begin(), decoder.config().eos_ids.end()}}) {}

  // The baseline's answer to question `index`, which those of ask() are compared with from now on.
  ItemOutcome ask_baseline(size_t index) {
    index_ = index;
    const cache::PreparedPrompt prompt{
        .fresh =
            cache::whole_prompt(question().schema, question().prompt, cache::Positions::kGapped)};
    ItemOutcome out = answer(prompt);
    baseline_tokens_ = out.tokens;
    baseline_logits_ = runner_.forced(prompt, baseline_tokens_);
    out.rows.top_1_ratio = 1;
    return out;
  }

  // The answer of a mode to the question that the baseline was asked last.
  ItemOutcome ask(cache::Mode mode) {
    cache::ModuleStates states(decoder_, store_, question().schema, mode,
                               {.model = group_.model.model}, encode_);
    const cache::PreparedPrompt prompt =
        cache::prepare(states, decoder_, question().prompt,
                       {.repair_ratio = group_.real_axis("repair_ratio")}, context_);
    ItemOutcome out = answer(prompt);
    out.rows = compare_rows(baseline_logits_, runner_.forced(prompt, baseline_tokens_),
                            decoder_.config().vocab);
    return out;
  }

 private:
  // Room for the states of one question's modules in every mode, and those of its scaffolds.
  static int64_t store_bytes(const Group& group, const Questions& questions,
                             const model::ModelConfig& config) {
    return (2 * static_cast<int64_t>(cache::mode_names().size()) * questions.longest() + 1) *
           kv_bytes_per_token(config, group.kv_dtype);
  }

  [[nodiscard]] const Item& item() const { return questions_.items[index_]; }
  [[nodiscard]] const ItemPrompt& question() const { return questions_.prompts[index_]; }

  // Of an answer that is its first line, what follows the line is not generated.
  std::vector<int32_t> generate(const cache::PreparedPrompt& prompt) {
    const bool is_line = item().judgement == workloads::questions::Judgement::kFirstLine;
    const auto stream = questions_.tokenizer->stream();
    return runner_.generate(prompt, item().most_answer_tokens, [&](int32_t token) {
      return is_line && stream->push(token).find('\n') != std::string::npos;
    });
  }

  ItemOutcome answer(const cache::PreparedPrompt& prompt) {
    ItemOutcome out{.id = item().id};
    out.tokens = generate(prompt);
    const std::string text = questions_.tokenizer->decode(out.tokens);
    out.text = judged_text(item(), text);
    out.score = is_right(item(), text) ? 1 : 0;
    std::vector<double> log_likelihoods;
    for (const std::vector<int32_t>& choice : question().choices)
      log_likelihoods.push_back(log_likelihood(runner_.forced(prompt, choice), choice));
    if (!log_likelihoods.empty()) out.choice_right = is_right_choice(item(), log_likelihoods);
    return out;
  }

  const Group& group_;
  const Questions& questions_;
  model::Decoder& decoder_;
  const Context& context_;
  cache::EncodeOptions encode_;
  kv::SegmentStore store_;
  PromptRunner runner_;
  size_t index_ = 0;
  std::vector<int32_t> baseline_tokens_;
  std::vector<float> baseline_logits_;  // [baseline tokens, vocab]
};

Json resolved_of(const Questions& questions) {
  int64_t as_whole = 0, modules = 0, longest_prompt = 0;
  for (const ItemPrompt& prompt : questions.prompts) {
    as_whole += prompt.is_as_whole ? 1 : 0;
    modules += static_cast<int64_t>(prompt.schema.modules.size()) - 1;
    longest_prompt = std::max(longest_prompt, prompt.tokens());
  }
  return {{"repetitions", 1},
          {"warmup", 0},
          {"modules", modules},
          {"longest_prompt_tokens", longest_prompt},
          {"questions_tokenized_as_whole", as_whole}};
}

}  // namespace

KindInfo AccuracyKind::info() {
  return {.name = "accuracy",
          .summary =
              "questions over documents that are modules: right answers, and how far the modes of "
              "Prompt Cache stray from computing the whole prompt; nothing is timed",
          .axes = {{.name = "task",
                    .fallback = "all",
                    .accepted = Words{task_names()},
                    .unit = "",
                    .help = "of the questions that are asked"},
                   {.name = "items",
                    .fallback = 0,
                    .accepted = Integers{0, 1'000'000},
                    .unit = "questions",
                    .help = "the first of them; 0: all, or 50 that are made up"},
                   {.name = "grouping",
                    .fallback = "documents",
                    .accepted = words(workloads::questions::kGroupingNames),
                    .unit = "",
                    .help = "what a module is: a document, a paragraph, or all documents in one"},
                   {.name = "scaffold",
                    .fallback = "all",
                    .accepted = words(kScaffoldSetNames),
                    .unit = "",
                    .help = "modules that are encoded together too: all, or two neighbours each"},
                   {.name = "repair_ratio",
                    .fallback = 0.15,
                    .accepted = Reals{0, 1},
                    .unit = "ratio",
                    .help = "of the imported tokens, those that repair computes again"},
                   {.name = "documents",
                    .fallback = 20,
                    .accepted = Integers{1, 4096},
                    .unit = "documents",
                    .help = "lines or topics of a question that is made up"},
                   {.name = "shots",
                    .fallback = 5,
                    .accepted = Integers{0, 1000},
                    .unit = "examples",
                    .help = "worked examples of mmlu, a module each"},
                   kPrefillChunkAxis},
          .metrics = outcome_metrics(),
          .own_methods = modes(),
          .own_workloads = question_workloads()};
}

void AccuracyKind::check(const Group& group) {
  Problems problems;
  problems.collect([&] { check_methods(group); });
  problems.collect([&] {
    if (const model::ModelConfig config = Bench::config(group); !config.has_head)
      raise("model {} has no head that makes logits, so that it answers nothing: take a decoder",
            config.name);
    model::check_loadable(resolve_model(group.model.model),
                          {.dtype = group.dtype,
                           .random_weights = group.model.random_weights,
                           .seed = group.seeds.weights});
    const Questions questions = questions_of(group);
    if (!group.model.random_weights) check_length(Bench::config(group), questions.longest());
  });
  problems.raise_if_any();
}

MemoryNeed AccuracyKind::memory_need(const Group& group) {
  const int64_t modes = static_cast<int64_t>(cache::mode_names().size());
  return memory_of_model(Bench::config(group), group.dtype, group.kv_dtype,
                         (2 * modes + 1) * questions_of(group).longest());
}

std::vector<Measurement> AccuracyKind::measure(const Group& group, const Json& /*machine*/,
                                               const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  const Questions questions = questions_of(group);
  Interview interview(group, questions, bench_.decoder(group), bench_.context());
  std::vector<ItemOutcome> baseline;
  std::vector<std::vector<ItemOutcome>> outcomes(group.methods.size());
  for (size_t i = 0; i < questions.items.size(); ++i) {
    if (stop) throw Interrupted{};
    baseline.push_back(interview.ask_baseline(i));
    for (size_t m = 0; m < group.methods.size(); ++m)
      outcomes[m].push_back(group.methods[m].name == kBaseline
                                ? baseline.back()
                                : interview.ask(cache::mode_named(group.methods[m].name)));
  }
  std::vector<Measurement> measurements;
  for (const std::vector<ItemOutcome>& of_mode : outcomes) {
    Measurement measured;
    add_outcomes(measured, of_mode, baseline, group.seeds.sampling);
    measured.resolved = resolved_of(questions);
    measured.memory = {{"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
                       {"process_peak_bytes", peak_resident_bytes()}};
    measurements.push_back(std::move(measured));
  }
  return measurements;
}

}  // namespace reprise::experiments
