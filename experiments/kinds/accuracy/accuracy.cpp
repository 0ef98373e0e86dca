#include "experiments/kinds/accuracy/accuracy.h"

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/store/segment_store.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/accuracy/item_outcome.h"
#include "experiments/kinds/accuracy/prompt_runner.h"
#include "experiments/kinds/accuracy/question_files.h"
#include "experiments/kinds/shared/costs.h"
#include "experiments/kinds/shared/places.h"
#include "methods/prompt_cache/prompt_cache.h"
#include "workloads/questions/judge.h"

namespace reprise::experiments {
namespace {

namespace cache = prompt_cache;
using workloads::questions::Item;

constexpr const char* kBaseline = "baseline";

std::vector<Series> modes() {
  return {{kBaseline, "the whole prompt computed, nothing imported"},
          {"isolated", "each module's tokens see those of the module alone"},
          {"joint", "each module's tokens see all that stands before them"},
          {"scaffold", "isolated, and the sets of \"scaffold\" together"},
          {"repair", "isolated, and the tokens that deviate most computed again"}};
}

// Asks the questions one by one, each in several modes.
class Interview {
 public:
  Interview(const Group& group, const GroupQuestions& questions, model::Decoder& decoder,
            const Context& context)
      : group_(group),
        axes_(group.axes_as<AccuracyAxes>()),
        questions_(questions),
        decoder_(decoder),
        context_(context),
        encode_{.kv_dtype = group.kv_dtype,
                .step_tokens = static_cast<int32_t>(axes_.prefill_chunk)},
        store_({.host_bytes = store_bytes(group, questions, decoder.config())}),
        runner_(context, decoder,
                {.kv_dtype = group.kv_dtype,
                 .step_tokens = encode_.step_tokens,
                 .max_sequence_tokens = static_cast<int32_t>(questions.longest()),
                 .stop_ids = {decoder.config().eos_ids.begin(), decoder.config().eos_ids.end()}}) {}

  // The baseline's answer to question `index`. Later answers of ask() are compared with it.
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

  // The answer of `mode` to the question of the latest ask_baseline().
  ItemOutcome ask(cache::Mode mode) {
    cache::ModuleStates states(decoder_, store_, question().schema, mode,
                               {.model = group_.model.model}, encode_);
    // Computes and stores the modules' states now, because the TTFT is that with stored states.
    (void)states.import(question().prompt);
    const cache::PreparedPrompt prompt = cache::prepare(
        states, decoder_, question().prompt, {.repair_ratio = axes_.repair_ratio}, context_);
    REPRISE_CHECK(prompt.times.encode_s == 0, "modules of question {} were not stored", item().id);
    ItemOutcome out = answer(prompt);
    out.rows = compare_rows(baseline_logits_, runner_.forced(prompt, baseline_tokens_),
                            decoder_.config().vocab);
    return out;
  }

 private:
  // Bytes for the states of one question's modules and scaffolds in every mode.
  static int64_t store_bytes(const Group& group, const GroupQuestions& questions,
                             const model::ModelConfig& config) {
    return (2 * static_cast<int64_t>(cache::mode_names().size()) * questions.longest() + 1) *
           kv_bytes_per_token(config, group.kv_dtype);
  }

  [[nodiscard]] const Item& item() const { return questions_.items[index_]; }
  [[nodiscard]] const ItemPrompt& question() const { return questions_.prompts[index_]; }

  // As in LongBench's program, an answer in a dataset that stops at a line break begins neither
  // with a line break nor with an end-of-text token. Returns null for other datasets.
  [[nodiscard]] std::shared_ptr<const engine::TokenRules> first_token_rules() const {
    if (!item().stops_at_line_break) return nullptr;
    const std::vector<int64_t>& ends = decoder_.config().eos_ids;
    engine::TokenRules rules;
    rules.withheld = {ends.begin(), ends.end()};
    rules.min_tokens = 1;
    const std::vector<int32_t> line_break =
        questions_.tokenizer->encode("\n", {.add_special = false});
    if (!line_break.empty()) rules.withheld.push_back(line_break.back());
    return std::make_shared<const engine::TokenRules>(std::move(rules));
  }

  // Generates an answer. If only its first line is judged, stops after that line. If the dataset
  // ends answers at a line break, stops at the first line break that follows another character:
  // leading line breaks would leave the answer empty.
  Generated generate(const cache::PreparedPrompt& prompt) {
    const bool is_line = item().judgement == workloads::questions::Judgement::kFirstLine;
    const auto stream = questions_.tokenizer->stream();
    std::string text;
    const auto is_last = [&](int32_t token) {
      stream->push(token, text);
      if (is_line) return text.find('\n') != std::string::npos;
      return item().stops_at_line_break &&
             text.find('\n', text.find_first_not_of('\n')) != std::string::npos;
    };
    return runner_.generate(prompt, item().most_answer_tokens, first_token_rules(), is_last);
  }

  ItemOutcome answer(const cache::PreparedPrompt& prompt) {
    ItemOutcome out{.id = item().id};
    Generated generated = generate(prompt);
    out.tokens = std::move(generated.tokens);
    const cache::PrepareTimes& times = prompt.times;
    out.ttft_ms = generated.first_token_ms + (times.lookup_s + times.copy_s + times.repair_s) * 1e3;
    out.generated = questions_.tokenizer->decode(out.tokens);
    out.text = judged_text(item(), out.generated);
    std::vector<double> log_likelihoods;
    for (const std::vector<int32_t>& choice : question().choices)
      log_likelihoods.push_back(log_likelihood(runner_.forced(prompt, choice), choice));
    if (!log_likelihoods.empty()) out.choice_right = is_right_choice(item(), log_likelihoods);
    return out;
  }

  const Group& group_;
  const AccuracyAxes axes_;
  const GroupQuestions& questions_;
  model::Decoder& decoder_;
  const Context& context_;
  cache::EncodeOptions encode_;
  kv::SegmentStore store_;
  PromptRunner runner_;
  size_t index_ = 0;
  std::vector<int32_t> baseline_tokens_;
  std::vector<float> baseline_logits_;  // [baseline tokens, vocab]
};

void score(std::vector<ItemOutcome>& outcomes, const std::vector<Item>& items) {
  std::vector<std::string> generated;
  for (const ItemOutcome& outcome : outcomes) generated.push_back(outcome.generated);
  const std::vector<double> scores = workloads::questions::scores_of(items, generated);
  for (size_t i = 0; i < outcomes.size(); ++i) outcomes[i].score = scores[i];
}

Fields resolved_of(const GroupQuestions& questions) {
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
          {"questions_tokenized_as_whole", as_whole},
          {"questions_cut", questions.cut}};
}

}  // namespace

KindInfo AccuracyKind::info() {
  return {.name = "accuracy",
          .summary =
              "questions over documents that are modules: right answers, and how far the modes of "
              "Prompt Cache stray from computing the whole prompt, beside the time to first token",
          .axes = list_axes<AccuracyAxes>(),
          .metrics = outcome_metrics(),
          .series = modes(),
          .method_use = std::nullopt,
          .own_workloads = question_workloads()};
}

void AccuracyKind::check(const Group& group) {
  Problems problems;
  // A model that is missing must not hide files that are missing, too.
  for (const std::string& file : {group.workload.file, group.workload.templates})
    problems.collect([&] { (void)existing_path(file); });
  problems.collect([&] {
    bench_.check_model(group);
    (void)questions_.longest(group);
  });
  problems.raise_if_any();
}

MemoryNeed AccuracyKind::memory_need(const Group& group) {
  const int64_t modes = static_cast<int64_t>(cache::mode_names().size());
  return memory_of_model(Bench::config(group), group.weight_type(), group.kv_dtype,
                         (2 * modes + 1) * questions_.longest(group));
}

std::vector<Measurement> AccuracyKind::measure(const Group& group, const Machine& /*machine*/,
                                               const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  const GroupQuestions questions = questions_.take(group);
  Interview interview(group, questions, bench_.decoder(group), bench_.context());
  std::vector<ItemOutcome> baseline;
  std::vector<std::vector<ItemOutcome>> outcomes(group.methods.size());
  for (size_t i = 0; i < questions.items.size(); ++i) {
    if (stop) throw Interrupted{};
    tell(fmt::format("question {} of {}", i + 1, questions.items.size()));
    baseline.push_back(interview.ask_baseline(i));
    for (size_t m = 0; m < group.methods.size(); ++m)
      outcomes[m].push_back(group.methods[m].name == kBaseline
                                ? baseline.back()
                                : interview.ask(cache::mode_named(group.methods[m].name)));
  }
  score(baseline, questions.items);
  std::vector<Measurement> measurements;
  for (std::vector<ItemOutcome>& of_mode : outcomes) {
    score(of_mode, questions.items);
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
