#include "experiments/kinds/sentences.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/sentence/choice_reader.h"
#include "core/sentence/cosine.h"
#include "core/sentence/embedder.h"
#include "experiments/kinds/costs.h"
#include "experiments/kinds/places.h"
#include "experiments/kinds/sentence_methods.h"
#include "experiments/kinds/undisturbed.h"
#include "workloads/questions/mmlu_groups.h"

namespace reprise::experiments {
namespace {

const MetricInfo kScore = {"score", "ratio",
                           "Spearman's correlation of cosine and people's score; of sentiment, the "
                           "share of right answers of a linear probe, of mmlu that of questions "
                           "whose likeliest letter is right"};
const MetricInfo kScoreLow = {"score_low", "ratio", "lower end of its 95 % interval"};
const MetricInfo kScoreHigh = {"score_high", "ratio", "upper end of its 95 % interval"};
const MetricInfo kLoss = {"score_loss", "ratio", "the first method's score less this one's"};
const MetricInfo kAgreement = {
    "vector_cosine", "ratio",
    "of this method's vector (of mmlu, its logits) and the first method's: "
    "mean over texts"};
const MetricInfo kTextMs = {"text_ms", "ms", "embedding all texts, over their number"};
const MetricInfo kTokensPerS = {"tokens_per_s", "tokens/s", "of all texts, over the same time"};
const MetricInfo kSpeedup = {"text_speedup", "ratio",
                             "the first method's time per text over this one's"};
const MetricInfo kTexts = {"texts", "texts", "that were embedded in each repetition"};

constexpr const char* kOfFolder = "folder";
constexpr const char* kTextAlone = "{text}";

// The group with the model's own folder for that of its sentence-transformers' files.
Group with_model_folder(Group group) {
  group.model.model = sentence::model_folder_of(resolve_model(group.model.model));
  return group;
}

sentence::EmbedSettings settings_of(const Group& group) {
  const std::string folder = resolve_model(group.model.model);
  const model::ModelConfig config = Bench::config(with_model_folder(group));
  sentence::EmbedSettings settings = sentence::settings_of(folder, config);
  if (const std::string& pooling = group.word_axis("pooling"); pooling != kOfFolder)
    settings.pooling.modes = {sentence::parse_pooling(pooling, "pooling")};
  if (const std::string& prompt = group.word_axis("prompt"); prompt != kTextAlone)
    settings.form.prompt = sentence::Prompt::parse(prompt, "prompt");
  return settings;
}

SentenceSet set_of(const Group& group) {
  return load_sentences(group.workload, {.items = group.axis("items"),
                                         .group = group.word_axis("task"),
                                         .shots = group.axis("shots"),
                                         .database_share = group.real_axis("database_share"),
                                         .training_share = group.real_axis("training_share"),
                                         .seed = group.seeds.prompts});
}

// What makes numbers of the set's texts: vectors, or choices' logits.
std::unique_ptr<sentence::TextReader> reader_of(const Group& group, const SentenceSet& set,
                                                model::Decoder& decoder,
                                                const Tokenizer& tokenizer) {
  if (!set.choices.empty())
    return std::make_unique<sentence::ChoiceReader>(decoder, tokenizer, set.choices);
  return std::make_unique<sentence::Embedder>(decoder, tokenizer, settings_of(group));
}

std::vector<std::string> mmlu_tasks() {
  std::vector<std::string> tasks = {"all"};
  for (const std::string_view group : workloads::questions::mmlu_groups())
    tasks.emplace_back(group);
  return tasks;
}

// One method's turns at the texts.
struct Lane {
  std::unique_ptr<SentenceMethod> method;
  std::vector<float> vectors;  // [texts, width]
  std::vector<double> text_ms;
  Undisturbed taking;
};

class SentenceRun {
 public:
  SentenceRun(const Group& group, model::Decoder& decoder, const Tokenizer& tokenizer)
      : group_(group),
        decoder_(decoder),
        set_(set_of(group)),
        reader_(reader_of(group, set_, decoder, tokenizer)),
        lanes_(group.methods.size()),
        tokens_(reader_->tokens_of(set_.texts)) {
    for (const sentence::TextTokens& text : tokens_) {
      cut_ += text.was_cut() ? 1 : 0;
      total_tokens_ += std::ssize(text.ids);
    }
    for (size_t m = 0; m < lanes_.size(); ++m) {
      lanes_[m].method = make_sentence_method(group.methods[m]);
      lanes_[m].method->prepare(*reader_, {set_.database, set_.training});
      lanes_[m].vectors.resize(set_.texts.size() * static_cast<size_t>(reader_->width()));
      lanes_[m].taking = Undisturbed(group.repetitions);
    }
  }

  void take(size_t index, bool is_warmup) {
    Lane& lane = lanes_[index];
    const auto embed = [&] {
      const int64_t begin = now_ns();
      reader_->read(tokens_, lane.vectors, lane.method->policy());
      return static_cast<double>(now_ns() - begin) * 1e-6 / static_cast<double>(tokens_.size());
    };
    if (is_warmup) {
      (void)embed();
    } else {
      lane.text_ms.push_back(lane.taking.take([] {}, embed));
    }
  }

  [[nodiscard]] Measurement measurement_of(size_t index) const {
    const Lane& lane = lanes_[index];
    Measurement out;
    const SentenceScore score = score_of(lane);
    out.set(kScore, score.value);
    out.set(kScoreLow, score.interval.low);
    out.set(kScoreHigh, score.interval.high);
    out.sample(kTextMs, lane.text_ms);
    out.derive(kTokensPerS, kTextMs, [&](double text_ms) {
      return static_cast<double>(total_tokens_) * 1e3 /
             (text_ms * static_cast<double>(tokens_.size()));
    });
    out.set(kTexts, static_cast<double>(tokens_.size()));
    if (index > 0) compare(lane, score, out);
    lane.method->report(out);
    lane.taking.add_to(out);
    out.resolved = resolved();
    out.memory = {{"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
                  {"process_peak_bytes", peak_resident_bytes()}};
    return out;
  }

 private:
  [[nodiscard]] SentenceScore score_of(const Lane& lane) const {
    return score_sentences(set_, lane.vectors, reader_->width(), group_.seeds.sampling);
  }

  void compare(const Lane& lane, const SentenceScore& score, Measurement& out) const {
    const Lane& first = lanes_.front();
    out.set(kLoss, score_of(first).value - score.value);
    const auto width = static_cast<size_t>(reader_->width());
    double sum = 0;
    for (size_t at = 0; at < lane.vectors.size(); at += width)
      sum += sentence::cosine(std::span(first.vectors).subspan(at, width),
                              std::span(lane.vectors).subspan(at, width));
    out.set(kAgreement, sum / static_cast<double>(set_.texts.size()));
    std::vector<double> speedups;
    for (size_t r = 0; r < lane.text_ms.size(); ++r)
      speedups.push_back(first.text_ms[r] / lane.text_ms[r]);
    out.sample(kSpeedup, speedups);
  }

  [[nodiscard]] Json resolved() const {
    Json all = {{"splits", set_.splits},
                {"unscored_pairs", set_.unscored},
                {"cut_texts", cut_},
                {"text_tokens", total_tokens_},
                {"weight_bytes", decoder_.weight_bytes()},
                {"weight_format", name_of(decoder_.weight_format())}};
    if (!set_.choices.empty()) return all;
    const sentence::EmbedSettings settings = settings_of(group_);
    all.update({{"pooling", settings.pooling.text()},
                {"most_tokens", settings.form.most_tokens},
                {"prompt", settings.form.prompt.before + kTextAlone + settings.form.prompt.after}});
    return all;
  }

  const Group& group_;
  const model::Decoder& decoder_;
  SentenceSet set_;
  std::unique_ptr<sentence::TextReader> reader_;
  std::vector<Lane> lanes_;
  std::vector<sentence::TextTokens> tokens_;
  int64_t cut_ = 0, total_tokens_ = 0;
};

}  // namespace

KindInfo SentencesKind::info() {
  return {.name = "sentences",
          .summary =
              "texts that nothing is generated behind: how well their vectors or likeliest answers "
              "agree with people, and time per text",
          .axes = {{.name = "items",
                    .fallback = 0,
                    .accepted = Integers{0, int64_t{1} << 24},
                    .unit = "items",
                    .help = "pairs or labelled texts of each file, or questions: the first ones; "
                            "0: all"},
                   {.name = "pooling",
                    .fallback = kOfFolder,
                    .accepted = Words{{kOfFolder, "mean", "cls", "last"}},
                    .help = "which tokens' states make the vector; as the model's folder says, or "
                            "else the mean of an encoder's and a decoder's last"},
                   {.name = "prompt",
                    .fallback = kTextAlone,
                    .accepted = AnyText{},
                    .help = "words around each text, which goes where {text} stands"},
                   {.name = "task",
                    .fallback = "all",
                    .accepted = Words{mmlu_tasks()},
                    .help = "of mmlu: a group of subjects, or all of them"},
                   {.name = "shots",
                    .fallback = 5,
                    .accepted = Integers{0, 5},
                    .unit = "examples",
                    .help = "of mmlu: worked examples before each question"},
                   {.name = "database_share",
                    .fallback = 0.0,
                    .accepted = Reals{0, 0.9},
                    .unit = "ratio",
                    .help = "of the items, set apart for methods that store what they have seen"},
                   {.name = "training_share",
                    .fallback = 0.0,
                    .accepted = Reals{0, 0.9},
                    .unit = "ratio",
                    .help = "of the items, set apart for methods that learn before they store"}},
          .metrics = {kScore, kScoreLow, kScoreHigh, kLoss, kAgreement, kTextMs, kTokensPerS,
                      kSpeedup, kTexts},
          .own_methods = sentence_methods(),
          .own_workloads = sentence_workloads()};
}

void SentencesKind::check(const Group& group) {
  Problems problems;
  for (const MethodChoice& method : group.methods)
    problems.collect([&] { (void)make_sentence_method(method); });
  problems.collect([&] { (void)set_of(group); });
  problems.collect([&] {
    const std::string place = with_model_folder(group).model.model;
    model::check_loadable(place, {.dtype = group.dtype,
                                  .weight_format = group.model.weight_format,
                                  .random_weights = group.model.random_weights,
                                  .seed = group.seeds.weights});
    if (const auto config = Bench::config(with_model_folder(group));
        group.workload.name == "mmlu" && !config.has_head)
      raise("{} has no head that makes logits: mmlu takes a decoder", config.name);
    (void)settings_of(group);
    (void)load_tokenizer(place);
  });
  problems.raise_if_any();
}

MemoryNeed SentencesKind::memory_need(const Group& group) {
  return memory_of_model(Bench::config(with_model_folder(group)), group.weight_type(), group.dtype,
                         sentence::Embedder::kStepTokens);
}

std::vector<Measurement> SentencesKind::measure(const Group& group, const Json& machine,
                                                const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  bench_.use_calibration(machine);
  const Group with_folder = with_model_folder(group);
  const auto tokenizer = load_tokenizer(with_folder.model.model);
  SentenceRun run(group, bench_.decoder(with_folder), *tokenizer);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r)
    for (size_t m = 0; m < group.methods.size(); ++m) {
      if (stop) throw Interrupted{};
      run.take(m, /*is_warmup=*/r < 0);
    }
  std::vector<Measurement> measurements;
  for (size_t m = 0; m < group.methods.size(); ++m) measurements.push_back(run.measurement_of(m));
  return measurements;
}

}  // namespace reprise::experiments
