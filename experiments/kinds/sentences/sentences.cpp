#include "experiments/kinds/sentences/sentences.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/lower_case.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/sentence/choice_reader.h"
#include "core/sentence/cosine.h"
#include "core/sentence/label_reader.h"
#include "experiments/kinds/sentences/prefill_lane.h"
#include "experiments/kinds/sentences/text_model.h"
#include "experiments/kinds/shared/mmlu_axes.h"
#include "experiments/kinds/shared/places.h"
#include "methods/prompt_setup.h"
#include "methods/registry.h"
#include "workloads/questions/mmlu_groups.h"

namespace reprise::experiments {
namespace {

MetricInfo signed_ratio(const char* name, const char* help) {
  return {.name = name, .unit = "ratio", .help = help, .is_signed = true};
}
const MetricInfo kScore = signed_ratio(
    "score",
    "Spearman's correlation of cosine and people's score; of sentiment, the share of right answers "
    "of the model's own head or of a linear probe, of mmlu that of questions whose likeliest "
    "letter is right");
const MetricInfo kScoreLow = signed_ratio("score_low", "lower end of its 95 % interval");
const MetricInfo kScoreHigh = signed_ratio("score_high", "upper end of its 95 % interval");
const MetricInfo kLoss = signed_ratio("score_loss", "the first method's score less this one's");
const MetricInfo kAgreement = signed_ratio("vector_cosine",
                                           "of this method's vector (of mmlu and a head, its "
                                           "logits) and the first method's: mean over texts");
const MetricInfo kGamma =
    signed_ratio("speedup_degradation",
                 "score_loss over text_speedup - 1, of methods that are faster [AttnCache eq. 6]");
constexpr const char* kTextSpeedupName = "text_speedup";

constexpr const char* kOfFolder = "folder";
constexpr const char* kApart = "apart";
constexpr const char* kAsked = "asked";
constexpr const char* kAsGiven = "as_given";
constexpr const char* kPromptEol = "prompteol";
constexpr const char* kSpaced = "spaced";
constexpr const char* kBare = "bare";

std::vector<std::string> mmlu_tasks() {
  std::vector<std::string> tasks = {"all"};
  for (const std::string_view group : workloads::questions::mmlu_groups())
    tasks.emplace_back(group);
  return tasks;
}

struct SentencesAxes : TextAxes, MmluAxes {
  int64_t items = 0;  // 0: all
  std::string pooling = kOfFolder;
  std::string task = "all";
  std::string letters = kSpaced;
  double database_share = 0;
  double training_share = 0;
  std::string database_from = kApart;
  std::string database_split = kSplitOfAsked;
  std::string edits = kAsGiven;
  std::string set;             // "": the workload's file itself
  int64_t texts_per_step = 0;  // 0: all
  double threshold = 0;        // 0: as the method's options say
  int64_t padded_tokens = 0;   // 0: as the method's options say

  void visit(AxisVisitor& visitor) {
    visitor.integer({"items", "items",
                     "pairs or labelled texts of each file, or questions: the first ones; "
                     "0: all"},
                    {0, int64_t{1} << 24}, items);
    visitor.word({"pooling", "",
                  "which tokens' states make the vector; as the model's folder says, or "
                  "else the mean of an encoder's and a decoder's last"},
                 {{kOfFolder, "mean", "cls", "last"}}, pooling);
    visit_prompt(visitor);
    visitor.word({"edits", "",
                  "texts as they are given, or sentences with PromptEOL's edits: a full stop at "
                  "the end, also "
                  "for a question mark, and no double quotes",
                  /*came_later=*/true},
                 {{kAsGiven, kPromptEol}}, edits);
    visitor.text(
        {"set", "", "data set below the workload's file; empty: that file or folder itself",
         /*came_later=*/true},
        {}, set);
    visitor.word({"task", "", "of mmlu: a group of subjects, or all of them"}, {mmlu_tasks()},
                 task);
    visitor.integer({"shots", "examples", "of mmlu: worked examples before each question"}, {0, 5},
                    mmlu.shots);
    visit_wording(visitor);
    visitor.word({"letters", "",
                  "of mmlu: the tokens whose logits are compared; those of the letters with the "
                  "template's space or line break before them, or of the letters alone",
                  /*came_later=*/true},
                 {{kSpaced, kBare}}, letters);
    visit_shares(visitor);
    visitor.integer({"texts_per_step", "texts",
                     "that the model computes together; 0: as many as `reprise embed` does. "
                     "The times of hits alone, and hits on a device or in DeBERTa beside misses, "
                     "take 1"},
                    {0, 1 << 20}, texts_per_step);
    visitor.real(
        {"threshold", "ratio", "of methods that have this option, in its place; 0: the option"},
        {0, 2}, threshold);
    visitor.integer({"padded_tokens", "tokens",
                     "of methods that pad prompts, in place of their option; 0: the option",
                     /*came_later=*/true},
                    {0, 1 << 20}, padded_tokens);
  }

 private:
  void visit_shares(AxisVisitor& visitor) {
    visitor.real({"database_share", "ratio",
                  "of the items, set apart for methods that store what they have seen"},
                 {0, 0.9}, database_share);
    visitor.real({"training_share", "ratio",
                  "of the items, set apart for methods that learn before they store"},
                 {0, 0.9}, training_share);
    visitor.word({"database_from", "",
                  "what methods store: texts set apart; or, as contamination, the texts that are "
                  "asked (of pairs the first ones), in place of those",
                  /*came_later=*/true},
                 {{kApart, kAsked}}, database_from);
    visitor.word({"database_split", "",
                  "of mmlu: the split of the items set apart; all questions of the axis split are "
                  "then asked. same: one split is divided",
                  /*came_later=*/true},
                 {{kSplitOfAsked, "val", "test"}}, database_split);
  }
};

sentence::EmbedSettings settings_of(const Group& group, const SentencesAxes& axes) {
  sentence::EmbedSettings settings = text_settings_of(group, axes);
  if (axes.pooling != kOfFolder)
    settings.pooling.modes = {sentence::parse_pooling(axes.pooling, "pooling")};
  return settings;
}

// Returns whether label 0 of two is the positive one, by the labels' names. Names that say nothing
// are in the order of SST-2, whose label 1 is positive.
bool is_first_positive(const std::vector<std::string>& names, const std::string& folder) {
  using Names = std::vector<std::string>;
  if (names.empty() || names == Names{"LABEL_0", "LABEL_1"} || names == Names{"0", "1"})
    return false;
  Names starts;
  for (const std::string& name : names) starts.push_back(lower_case(name.substr(0, 3)));
  if (starts != Names{"neg", "pos"} && starts != Names{"pos", "neg"})
    raise(
        "{}/config.json: key \"id2label\" names the labels \"{}\" and \"{}\": sentiment takes "
        "one that begins with neg and one that begins with pos, or LABEL_0 and LABEL_1",
        folder, names[0].substr(0, 100), names[1].substr(0, 100));
  return starts.front() == "pos";
}

// The checkpoint's own classifier, for labelled texts. Its second output is the positive label's.
std::optional<model::TaskHead> head_of(const Group& group) {
  if (group.workload.name != "sentiment" || group.model.random_weights) return std::nullopt;
  const Group with_folder = with_model_folder(group);
  auto head = model::read_task_head(with_folder.model.model, Bench::config(with_folder));
  if (!head) return head;
  if (head->labels != 2)
    raise("{} has a classifier of {} labels: sentiment takes one of two", group.model.model,
          head->labels);
  if (is_first_positive(head->label_names, with_folder.model.model)) {
    std::rotate(head->out.begin(), head->out.begin() + head->hidden, head->out.end());
    std::swap(head->out_bias[0], head->out_bias[1]);
  }
  return head;
}

// The file or folder of the axis "set".
std::string file_of(const Group& group, const SentencesAxes& axes) {
  const std::string& file = group.workload.file;
  return axes.set.empty() ? file : (std::filesystem::path(file) / axes.set).string();
}

SentenceSet set_of(const Group& group, const SentencesAxes& axes, bool has_head) {
  Workload workload = group.workload;
  workload.file = file_of(group, axes);
  return load_sentences(workload, {.items = axes.items,
                                   .group = axes.task,
                                   .mmlu = axes.mmlu,
                                   .has_bare_letters = axes.letters == kBare,
                                   .database_split = axes.database_split,
                                   .database_share = axes.database_share,
                                   .training_share = axes.training_share,
                                   .seed = group.seeds.prompts,
                                   .stores_asked = axes.database_from == kAsked,
                                   .edits_texts = axes.edits == kPromptEol,
                                   .has_head = has_head});
}

// Returns the reader that turns the set's texts into vectors, or into logits of choices or labels.
std::unique_ptr<sentence::TextReader> reader_of(const Group& group, const SentencesAxes& axes,
                                                const SentenceSet& set,
                                                std::optional<model::TaskHead> head,
                                                model::Decoder& decoder,
                                                const Tokenizer& tokenizer) {
  if (!set.choices.empty())
    return std::make_unique<sentence::ChoiceReader>(decoder, tokenizer, set.choices);
  sentence::EmbedSettings settings = settings_of(group, axes);
  if (head)
    return std::make_unique<sentence::LabelReader>(decoder, tokenizer, std::move(settings.form),
                                                   *std::move(head));
  return std::make_unique<sentence::Embedder>(decoder, tokenizer, std::move(settings));
}

// One method's turns at the texts, and its vectors.
struct SentenceLane {
  PrefillLane turns;
  std::vector<sentence::TextTokens> texts;
  std::vector<float> vectors;  // [texts, width]
};

// True if an option of the method makes it pad prompts to a fixed length.
bool pads(const MethodChoice& method) {
  const auto length = method.resolved.find("padded_tokens");
  return length != method.resolved.end() && length->second != Value(0);
}

// The method with the options that the group's axes set.
MethodChoice placed(const MethodChoice& method, const SentencesAxes& axes) {
  MethodChoice here = method;
  if (axes.threshold > 0 && method.resolved.contains("threshold"))
    here.options["threshold"] = axes.threshold;
  if (axes.padded_tokens > 0 && pads(method)) here.options["padded_tokens"] = axes.padded_tokens;
  return here;
}

using Tell = std::function<void(const std::string& doing)>;

class SentenceRun {
 public:
  SentenceRun(const Group& group, model::Decoder& decoder, const Tokenizer& tokenizer)
      : group_(group), axes_(group.axes_as<SentencesAxes>()), decoder_(decoder) {
    std::optional<model::TaskHead> head = head_of(group);
    set_ = set_of(group, axes_, head.has_value());
    reader_ = reader_of(group, axes_, set_, std::move(head), decoder, tokenizer);
    tokens_ = reader_->tokens_of(set_.texts);
    const int64_t together = axes_.texts_per_step;
    texts_per_step_ = together > 0 ? static_cast<size_t>(together) : tokens_.size();
  }

  // Lets the method store the database's texts and learn from the training texts. Reports progress
  // to `tell`.
  void prepare(const Context& context, methods::Keepsakes& kept, const std::atomic<bool>& stop,
               const Tell& tell) {
    reader_->call_before_steps([&stop] {
      if (stop) throw Interrupted{};
    });
    const auto database = ids_of(set_.database), training = ids_of(set_.training);
    methods::Setup setup =
        methods::prompt_setup(decoder_, context, group_.model.model, group_.seeds.weights);
    std::string name;
    int64_t texts = 0;
    setup.run = [&](std::span<const int32_t> ids, model::LayerPolicy* policy) {
      tell(fmt::format("{} is prepared: {} texts", name, ++texts));
      return read_one(ids, policy);
    };
    setup.between = [&] {
      if (stop) throw Interrupted{};
      tell(fmt::format("{} is prepared: it learns from {} texts", name, training.size()));
    };
    setup.kept = &kept;
    setup.special_before = reader_->special_before();
    setup.special_after = reader_->special_after();
    setup.common_tokens = reader_->prompt_tokens();
    setup.database = database;
    setup.training = training;
    for (const MethodChoice& method : group_.methods) {
      if (stop) throw Interrupted{};
      name = label_of(method);
      texts = 0;
      add_lane(PrefillLane(placed(method, axes_), setup, group_.repetitions));
    }
  }

  void take(size_t index, bool is_warmup) {
    SentenceLane& lane = lanes_[index];
    const auto width = static_cast<size_t>(reader_->width());
    const auto read = [&](int64_t step, model::LayerPolicy* policy) {
      const size_t first = static_cast<size_t>(step) * texts_per_step_;
      const size_t count = std::min(texts_per_step_, lane.texts.size() - first);
      reader_->read(std::span(std::as_const(lane.texts)).subspan(first, count),
                    std::span(lane.vectors).subspan(first * width, count * width), policy);
    };
    const size_t steps = (lane.texts.size() + texts_per_step_ - 1) / texts_per_step_;
    lane.turns.take(static_cast<int64_t>(steps), is_warmup, read);
  }

  // Returns one measurement for each method. Call it only once, because scoring may fit a probe,
  // which takes long.
  [[nodiscard]] std::vector<Measurement> measurements() const {
    std::vector<Measurement> all;
    double first_score = 0;
    for (const SentenceLane& lane : lanes_) {
      const SentenceScore score = score_of(lane);
      all.push_back(measurement_of(lane, score));
      if (all.size() == 1)
        first_score = score.value;
      else
        compare(lane, first_score - score.value, all.back());
    }
    return all;
  }

 private:
  [[nodiscard]] Measurement measurement_of(const SentenceLane& lane,
                                           const SentenceScore& score) const {
    Measurement out;
    out.set(kScore, score.value);
    out.set(kScoreLow, score.interval.low);
    out.set(kScoreHigh, score.interval.high);
    out.resolved = resolved();
    std::vector<int64_t> lengths;
    int64_t cut = 0, total_tokens = 0;
    for (const sentence::TextTokens& text : lane.texts) {
      lengths.push_back(std::ssize(text.ids));
      cut += text.was_cut() ? 1 : 0;
      total_tokens += lengths.back();
    }
    update(out.resolved, {{"cut_texts", cut}, {"text_tokens", total_tokens}});
    lane.turns.report(
        lanes_.front().turns,
        {.config = decoder_.config(), .tokens = lengths, .is_one_a_step = texts_per_step_ == 1},
        out);
    out.memory = {{"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
                  {"process_peak_bytes", peak_resident_bytes()}};
    return out;
  }

  [[nodiscard]] std::vector<std::vector<int32_t>> ids_of(
      const std::vector<std::string>& texts) const {
    std::vector<std::vector<int32_t>> ids;
    for (sentence::TextTokens& text : reader_->tokens_of(texts)) ids.push_back(std::move(text.ids));
    return ids;
  }

  std::vector<float> read_one(std::span<const int32_t> ids, model::LayerPolicy* policy) {
    const sentence::TextTokens text = {.ids = {ids.begin(), ids.end()}, .given = std::ssize(ids)};
    std::vector<float> out(static_cast<size_t>(reader_->width()));
    reader_->read(std::span(&text, 1), out, policy);
    return out;
  }

  void add_lane(PrefillLane turns) {
    SentenceLane lane{.turns = std::move(turns), .texts = tokens_, .vectors = {}};
    for (sentence::TextTokens& text : lane.texts) text.ids = lane.turns.formed(text.ids);
    lane.vectors.resize(tokens_.size() * static_cast<size_t>(reader_->width()));
    lanes_.push_back(std::move(lane));
  }

  [[nodiscard]] SentenceScore score_of(const SentenceLane& lane) const {
    return score_sentences(set_, lane.vectors, reader_->width(), group_.seeds.sampling);
  }

  void compare(const SentenceLane& lane, double loss, Measurement& out) const {
    const SentenceLane& first = lanes_.front();
    out.set(kLoss, loss);
    const auto width = static_cast<size_t>(reader_->width());
    double sum = 0;
    for (size_t at = 0; at < lane.vectors.size(); at += width)
      sum += sentence::cosine(std::span(first.vectors).subspan(at, width),
                              std::span(lane.vectors).subspan(at, width));
    out.set(kAgreement, sum / static_cast<double>(set_.texts.size()));
    const double gain = out.metrics.at(kTextSpeedupName).value - 1;
    if (gain > 0) out.set(kGamma, loss / gain);
  }

  [[nodiscard]] Fields resolved() const {
    Fields all = {{"splits", set_.splits},
                  {"unscored_pairs", set_.unscored},
                  {"texts_a_step", texts_per_step_},
                  {"weight_bytes", decoder_.weight_bytes()},
                  {"weight_format", name_of(decoder_.weight_format())}};
    if (!set_.choices.empty()) return all;
    if (!set_.labels.empty()) all["scored_by"] = set_.has_head ? "head" : "linear probe";
    const sentence::EmbedSettings settings = settings_of(group_, axes_);
    update(all,
           {{"pooling", settings.pooling.text()},
            {"most_tokens", settings.form.most_tokens},
            {"prompt", settings.form.prompt.before + kTextAlone + settings.form.prompt.after}});
    return all;
  }

  const Group& group_;
  const SentencesAxes axes_;
  const model::Decoder& decoder_;
  SentenceSet set_;
  std::unique_ptr<sentence::TextReader> reader_;
  size_t texts_per_step_ = 1;
  std::vector<SentenceLane> lanes_;
  std::vector<sentence::TextTokens> tokens_;
};

}  // namespace

KindInfo SentencesKind::info() {
  std::vector<MetricInfo> metrics = {kScore, kScoreLow, kScoreHigh, kLoss, kAgreement, kGamma};
  for (const MetricInfo& more : prefill_lane_metrics()) metrics.push_back(more);
  return {.name = "sentences",
          .summary =
              "texts that nothing is generated behind: how well their vectors or likeliest answers "
              "agree with people, and time per text",
          .axes = list_axes<SentencesAxes>(),
          .metrics = std::move(metrics),
          .method_use = MethodUse::kPrefill,
          .own_workloads = sentence_workloads()};
}

std::string SentencesKind::missing(const MethodChoice& method) const { return missing_for(method); }

void SentencesKind::check(const Group& group) {
  const auto axes = group.axes_as<SentencesAxes>();
  Problems problems;
  for (const MethodChoice& method : group.methods)
    problems.collect([&] {
      const MethodChoice chosen = placed(method, axes);
      methods::make_method(chosen.name, chosen.options)
          ->check({.device = bench_.context().device, .batches_prompts = axes.texts_per_step != 1});
    });
  // A model that is missing must not hide a file that is missing, too.
  problems.collect([&] { (void)resolve_path(file_of(group, axes)); });
  problems.collect([&] {
    if (axes.edits != kAsGiven && group.workload.name == "mmlu")
      raise("edits \"{}\" is of sentences: mmlu's prompts end as they are worded", axes.edits);
    (void)set_of(group, axes, head_of(group).has_value());
  });
  problems.collect([&] {
    const model::ModelConfig config = check_text_model(group, axes, bench_.context());
    if (group.workload.name == "mmlu" && !config.has_head)
      raise("{} has no head that makes logits: mmlu takes a decoder", config.name);
  });
  problems.raise_if_any();
}

MemoryNeed SentencesKind::memory_need(const Group& group) { return memory_of_text_model(group); }

std::vector<Measurement> SentencesKind::measure(const Group& group, const Machine& machine,
                                                const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  bench_.use_calibration(machine);
  const Group with_folder = with_model_folder(group);
  const auto tokenizer = load_tokenizer(with_folder.model.model);
  if (const std::string model = Bench::held_model(with_folder); model != kept_of_) {
    kept_.clear();
    kept_of_ = model;
  }
  SentenceRun run(group, bench_.decoder(with_folder), *tokenizer);
  run.prepare(bench_.context(), kept_, stop, [this](const std::string& what) { tell(what); });
  for (int64_t r = -group.warmup; r < group.repetitions; ++r)
    for (size_t m = 0; m < group.methods.size(); ++m) {
      begin_turn(group, r, m, stop);
      run.take(m, /*is_warmup=*/r < 0);
    }
  return run.measurements();
}

}  // namespace reprise::experiments
