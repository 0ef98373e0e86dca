#include "experiments/framework/experiment_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/base/problems.h"
#include "experiments/framework/experiment_entries.h"
#include "experiments/framework/experiment_plots.h"
#include "experiments/framework/experiment_points.h"
#include "experiments/framework/overrides.h"
#include "results/manifest.h"
#include "results/paper_numbers.h"
#include "results/placeholders.h"
#include "results/record.h"

namespace reprise::experiments {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;

class Parser {
 public:
  Parser(const Value& json, const std::string& source, const Vocabulary& vocabulary)
      : source_(source), file_(json, source), vocabulary_(vocabulary) {}

  Experiment parse(const std::string& scale) {
    experiment_.scale = scale;
    // Unknown keys are looked for first, so that a misspelt key is reported as unknown, not as
    // missing.
    file_.allow({"name",          "paper",    "figure",        "title",       "note",
                 "kind",          "models",   "dtypes",        "kv_dtype",    "methods",
                 "series",        "workload", "compared_with", "settings",    "sweep",
                 "cases",         "metrics",  "warmup",        "repetitions", "interleave",
                 "paper_numbers", "seeds",    "plot",          "mean_over"});
    file_.reject_unknown();
    read_caption();  // reads the kind too, which all later checks need
    Problems problems;
    for (const auto read :
         {&Parser::read_models, &Parser::read_dtypes, &Parser::read_points, &Parser::read_workload,
          &Parser::read_axes, &Parser::read_metrics, &Parser::read_repetition, &Parser::read_plots})
      problems.collect([&] { (this->*read)(); });
    problems.raise_if_any();
    return std::move(experiment_);
  }

  // The keys of "settings", such as "settings.batch", that no model uses since a case of each model
  // sets the axis.
  [[nodiscard]] const std::vector<std::string>& unused_settings() const { return unused_settings_; }

 private:
  void read_caption() {
    experiment_.name = file_.string("name");
    const auto is_plain = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    };
    if (experiment_.name.empty() || experiment_.name.size() > 100 ||
        !std::all_of(experiment_.name.begin(), experiment_.name.end(), is_plain))
      raise("{} names a folder: letters, digits, '_' and '-' only, at most 100",
            file_.where("name"));
    experiment_.title = file_.string("title");
    experiment_.paper = file_.string("paper", "");
    experiment_.figure = file_.string("figure", "");
    experiment_.note = file_.string("note", "");
    experiment_.kind =
        find_named(vocabulary_.kinds, "kind", file_.string("kind"), file_.where("kind"));
    check_placeholders(experiment_.kind, experiment_.title, file_.where("title"));
    check_placeholders(experiment_.kind, experiment_.note, file_.where("note"));
    read_paper_numbers();
    experiment_.mean_over = file_.string("mean_over", "");
    if (!experiment_.mean_over.empty())
      require_name(experiment_.kind.axis_names(), "axis", experiment_.mean_over,
                   file_.where("mean_over"));
  }

  // Reads a name, or a list of names.
  void read_paper_numbers() {
    if (!file_.has("paper_numbers")) return;
    const Value& given = file_.at("paper_numbers");
    const std::vector<std::string> known = results::known_paper_numbers();
    for (const Value& name : given.is_list() ? given.list() : Values{given}) {
      if (!name.is_text())
        raise("{} must be a name or a list of names, found {}", file_.where("paper_numbers"),
              shown(name));
      require_name(known, "paper_numbers", name.text(), file_.where("paper_numbers"));
      experiment_.paper_numbers.push_back(name.text());
    }
  }

  void read_models() {
    if (!experiment_.kind.takes_model) {
      refuse_for_kind("models");
      refuse_for_kind("workload");
      experiment_.models = {ModelChoice{}};
      return;
    }
    std::set<std::string> seen;
    const Values& list = list_at(file_, "models");
    for (size_t i = 0; i < list.size(); ++i) {
      Value storage;
      JsonObject entry =
          entry_object(list[i], storage, "model", source_, "models." + std::to_string(i));
      ModelChoice choice{.model = entry.string("model"), .random_weights = false};
      const std::string weights = entry.string("weights", "checkpoint");
      require_name({"checkpoint", "random"}, "weights", weights, entry.where("weights"));
      choice.random_weights = weights == "random";
      const std::string format = entry.string("weight_format", kPlainWeights);
      choice.weight_format = weight_format_named(format, entry.where("weight_format"));
      entry.reject_unknown();
      if (choice.model.empty()) raise("{} is empty", entry.where("model"));
      const std::string text = fmt::format("{} {} {}", choice.model, weights, format);
      require_different(seen, text, file_.where("models"));
      seen.insert(text);
      experiment_.models.push_back(std::move(choice));
    }
  }

  // Throws Error if the file has `key`, which has no effect because the kind runs no model.
  void refuse_for_kind(const char* key) {
    if (file_.has(key))
      raise("{}: kind \"{}\" runs no model; leave this key out", file_.where(key),
            experiment_.kind.name);
  }

  void read_dtypes() {
    if (!file_.has("dtypes")) {
      experiment_.dtypes = {DType::kF32};
    } else {
      std::set<std::string> seen;
      for (const Value& entry : list_at(file_, "dtypes")) {
        if (!entry.is_text())
          raise("{} must hold names such as \"bf16\", found {}", file_.where("dtypes"),
                shown(entry));
        const DType dtype = dtype_named(entry.text(), file_.where("dtypes"));
        require_different(seen, std::string(name_of(dtype)), file_.where("dtypes"));
        seen.insert(std::string(name_of(dtype)));
        experiment_.dtypes.push_back(dtype);
      }
    }
    experiment_.kv_dtype = file_.string("kv_dtype", "same");
    if (experiment_.kv_dtype != "same")
      experiment_.kv_dtype = name_of(dtype_named(experiment_.kv_dtype, file_.where("kv_dtype")));
  }

  void read_points() { experiments::read_points(file_, source_, vocabulary_, experiment_); }

  void read_workload() {
    const bool has_own = !experiment_.kind.own_workloads.empty();
    Value storage = "random_tokens";
    Value object;
    // If the kind has its own workloads, the file must name one of them.
    if (has_own || file_.has("workload")) storage = file_.at("workload");
    JsonObject entry = entry_object(storage, object, "name", source_, "workload");
    const auto& info = find_named(has_own ? experiment_.kind.own_workloads : vocabulary_.workloads,
                                  "workload", entry.string("name"), entry.where("name"));
    const bool reads_file = info.takes_file && (!info.file_is_optional || entry.has("file"));
    experiment_.workload = {.name = info.name, .file = reads_file ? entry.string("file") : ""};
    if (info.takes_templates) experiment_.workload.templates = entry.string("templates", "");
    entry.reject_unknown();
  }

  std::vector<AxisValue> read_axis(const Axis& axis, JsonObject& settings, JsonObject& sweep) {
    const bool is_swept = sweep.has(axis.name);
    if (settings.has(axis.name)) {
      if (is_swept) raise("{} is in \"settings\" too; keep one of them", sweep.where(axis.name));
      return {axis.read(settings.at(axis.name), settings.where(axis.name))};
    }
    if (!is_swept) return {axis.fallback};
    std::vector<AxisValue> values;
    for (const Value& entry : list_at(sweep, axis.name)) {
      AxisValue value = axis.read(entry, sweep.where(axis.name));
      if (std::find(values.begin(), values.end(), value) != values.end())
        raise("{} holds {} twice", sweep.where(axis.name), value.text());
      values.push_back(std::move(value));
    }
    return values;
  }

  // Returns the axes of one case, and under kModelOfCase its model if it names one. `where` is the
  // case's place in the file.
  AxisValues read_case(const Value& entry, const std::string& where) const {
    JsonObject object(entry, source_, where);
    AxisValues values;
    if (experiment_.kind.takes_model && object.has(kModelOfCase))
      values.emplace(kModelOfCase, object.string(kModelOfCase));
    for (const Axis& axis : experiment_.kind.axes)
      if (object.has(axis.name))
        values.emplace(axis.name, axis.read(object.at(axis.name), object.where(axis.name)));
    object.reject_unknown();
    return values;
  }

  // Returns the model that a case calls `name`: the one in "models" with this name, or else the one
  // whose name without folders is the same. Returns null if there is none. Throws Error if several
  // have that name without folders.
  [[nodiscard]] const ModelChoice* model_of_case(const std::string& name) const {
    const ModelChoice* found = nullptr;
    for (const ModelChoice& model : experiment_.models)
      if (model.model == name) return &model;
    for (const ModelChoice& model : experiment_.models) {
      if (results::short_model_name(model.model) != results::short_model_name(name)) continue;
      if (found != nullptr && found->model != model.model)
        raise(
            "{}: a case of model {} may be of {} or of {}; write that model's name as in "
            "\"models\"",
            source_, shown(Value(name)), shown(Value(found->model)), shown(Value(model.model)));
      found = &model;
    }
    return found;
  }

  // For cases that name a model. Replaces that name by the model's name in "models", and drops
  // cases whose model is not in "models". A model without a case gets one with the values in
  // `settings`. Throws Error if one of these values is missing, or if two cases are the same.
  void keep_cases_of_models(JsonObject& settings) {
    const AxisValues first = experiment_.cases[0];
    if (!first.contains(kModelOfCase)) return;
    std::vector<AxisValues> kept;
    for (AxisValues& one : experiment_.cases) {
      const std::string name = one.at(kModelOfCase).word();
      const ModelChoice* model = model_of_case(name);
      if (model == nullptr) continue;
      one.at(kModelOfCase) = model->model;
      if (std::find(kept.begin(), kept.end(), one) != kept.end())
        raise("{}: a case of model {} is there twice, once as {}; remove one", source_,
              shown(Value(model->model)), shown(Value(name)));
      kept.push_back(std::move(one));
    }
    const bool has_none = kept.empty();
    for (const ModelChoice& model : experiment_.models) {
      const bool has_case = std::any_of(
          kept.begin(), kept.end(), [&](const AxisValues& one) { return is_case_of(one, model); });
      if (has_case) continue;
      kept.push_back(case_of_settings(model, first, settings));
      all_models_have_cases_ = false;
    }
    experiment_.cases = has_none ? std::vector<AxisValues>{{}} : std::move(kept);
  }

  // Returns a case for `model`. It sets the axes that the case `like` sets, to their values in
  // `settings`.
  AxisValues case_of_settings(const ModelChoice& model, const AxisValues& like,
                              JsonObject& settings) const {
    AxisValues values = {{kModelOfCase, model.model}};
    for (const Axis& axis : experiment_.kind.axes) {
      if (!like.contains(axis.name)) continue;
      if (!settings.has(axis.name))
        raise("{}: no case is of model {}; add one, or {}, which holds for models without a case",
              source_, shown(Value(model.model)), settings.where(axis.name));
      values.emplace(axis.name, axis.read(settings.at(axis.name), settings.where(axis.name)));
    }
    return values;
  }

  void read_cases() {
    const Values& list = list_at(file_, "cases");
    experiment_.cases.clear();
    const auto names = [](const AxisValues& axes) {
      std::vector<std::string> found;
      for (const auto& [name, value] : axes) found.push_back(name);
      return found;
    };
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string where = fmt::format("cases.{}", i);
      AxisValues values = read_case(list[i], where);
      if (values.size() == values.count(kModelOfCase)) raise("{}: {} sets no axis", source_, where);
      if (i > 0 && names(values) != names(experiment_.cases[0]))
        raise("{}: {} sets {}, but the first case {}: all cases set the same axes", source_, where,
              fmt::join(names(values), ", "), fmt::join(names(experiment_.cases[0]), ", "));
      if (std::find(experiment_.cases.begin(), experiment_.cases.end(), values) !=
          experiment_.cases.end())
        raise("{}: {} is there twice", source_, where);
      experiment_.cases.push_back(std::move(values));
    }
  }

  // The distinct values that the cases give an axis, in the order of the cases.
  std::vector<AxisValue> values_in_cases(const Axis& axis) const {
    std::vector<AxisValue> values;
    for (const AxisValues& one : experiment_.cases)
      if (std::find(values.begin(), values.end(), one.at(axis.name)) == values.end())
        values.push_back(one.at(axis.name));
    return values;
  }

  void read_axes() {
    const Fields none;
    JsonObject settings =
        file_.has("settings") ? file_.object("settings") : JsonObject(none, source_, "settings");
    JsonObject sweep =
        file_.has("sweep") ? file_.object("sweep") : JsonObject(none, source_, "sweep");
    if (file_.has("cases")) {
      read_cases();
      keep_cases_of_models(settings);
    }
    const bool are_of_models = experiment_.cases[0].contains(kModelOfCase);
    for (const Axis& axis : experiment_.kind.axes) {
      const bool is_in_cases = experiment_.cases[0].contains(axis.name);
      if (is_in_cases && are_of_models) settings.allow({axis.name.c_str()});
      if (is_in_cases && are_of_models && all_models_have_cases_)
        unused_settings_.push_back("settings." + axis.name);
      for (JsonObject* other : {&settings, &sweep})
        if (is_in_cases && other->has(axis.name) && !(are_of_models && other == &settings))
          raise("{} is in \"cases\" too; keep one of them", other->where(axis.name));
      experiment_.axis_values.push_back(is_in_cases ? values_in_cases(axis)
                                                    : read_axis(axis, settings, sweep));
    }
    settings.reject_unknown();
    sweep.reject_unknown();
  }

  void read_metrics() {
    experiment_.metrics = experiment_.kind.metric_names();
    if (!file_.has("metrics")) return;
    experiment_.metrics.clear();
    std::set<std::string> seen;
    for (const Value& entry : list_at(file_, "metrics")) {
      if (!entry.is_text()) raise("{} must hold names", file_.where("metrics"));
      const auto name = entry.text();
      require_shown_metric(experiment_.kind, name, file_.where("metrics"));
      require_different(seen, name, file_.where("metrics"));
      seen.insert(name);
      experiment_.metrics.push_back(name);
    }
  }

  static uint64_t read_seed(JsonObject& seeds, const std::string& key) {
    return seeds.has(key) ? static_cast<uint64_t>(seeds.integer_in(key, 0, INT64_MAX)) : 1;
  }

  void read_repetition() {
    if (file_.has("repetitions"))
      experiment_.repetitions = file_.integer_in("repetitions", 1, 100000);
    if (file_.has("warmup")) experiment_.warmup = file_.integer_in("warmup", 0, 1000);
    const std::string turns =
        file_.string("interleave", experiment_.kind.interleaves_points ? "points" : "methods");
    require_name({"points", "methods"}, "value", turns, file_.where("interleave"));
    experiment_.interleaves_points = turns == "points";
    if (experiment_.interleaves_points && !experiment_.kind.interleaves_points)
      raise(
          "{}: kind \"{}\" measures one point after another; its methods take turns (\"methods\")",
          file_.where("interleave"), experiment_.kind.name);
    if (!file_.has("seeds")) return;
    JsonObject seeds = file_.object("seeds");
    experiment_.seeds = {.prompts = read_seed(seeds, "prompts"),
                         .weights = read_seed(seeds, "weights"),
                         .sampling = read_seed(seeds, "sampling"),
                         .arrivals = read_seed(seeds, "arrivals"),
                         .order = read_seed(seeds, "order")};
    seeds.reject_unknown();
  }

  void read_plots() { experiments::read_plots(file_, source_, experiment_); }

  std::string source_;
  JsonObject file_;
  const Vocabulary& vocabulary_;
  Experiment experiment_;
  bool all_models_have_cases_ = true;  // false: "settings" hold for at least one of them
  std::vector<std::string> unused_settings_;
};

// Returns all values that an experiment gives a setting.
Values values_planned(const Experiment& experiment, const std::string& setting) {
  Values values;
  for (size_t a = 0; a < experiment.kind.axes.size(); ++a)
    if (experiment.kind.axes[a].name == setting)
      for (const AxisValue& value : experiment.axis_values[a]) values.push_back(value.value());
  if (setting == "model")
    for (const ModelChoice& model : experiment.models) values.emplace_back(model.model);
  if (setting == "dtype")
    for (const DType dtype : experiment.dtypes) values.emplace_back(name_of(dtype));
  if (setting == "method")
    for (const MethodChoice& method : experiment.methods) values.emplace_back(method.name);
  if (setting == "repetitions") values.emplace_back(experiment.repetitions);
  return values;
}

}  // namespace

bool is_case_of(const AxisValues& one_case, const ModelChoice& model) {
  const auto named = one_case.find(kModelOfCase);
  return named == one_case.end() || named->second.word() == model.model;
}

std::string filled(const std::string& text, const Experiment& experiment) {
  return results::fill_placeholders(
      text, experiment.name, results::placeholder_names(experiment.kind.axis_names()),
      [&](const std::string& setting) {
        return results::values_text(values_planned(experiment, setting));
      });
}

namespace {

// A sentence for an error with the keys that both the scale and --set change; "" if there are none.
std::string set_by_scale(const Value& file, const std::string& scale,
                         const std::vector<std::string>& overrides) {
  const Value& changes = field_of(field_of(file, "scales"), scale);
  std::string text;
  for (const std::string& set : overrides) {
    const std::string key = set.substr(0, set.find_first_of(".="));
    const Value& change = field_of(changes, key);
    if (change.is_null() || text.find("\"" + key + "\"") != std::string::npos) continue;
    text += fmt::format(
        " Scale {} sets \"{}\" itself, to {}; --set applies to that. For the file's "
        "own, take another --scale.",
        scale, key, shown(change));
  }
  return text;
}

// Throws Error if an override changes one of the `unused` settings.
void require_effect(const std::vector<std::string>& overrides,
                    const std::vector<std::string>& unused) {
  for (const std::string& set : overrides) {
    const std::string key = set.substr(0, set.find('='));
    if (std::find(unused.begin(), unused.end(), key) == unused.end()) continue;
    raise(
        "--set \"{}\" has no effect, because each model has a case with its own value; change "
        "\"cases\", or remove them with --set cases=null",
        set);
  }
}

void check_all_scales(const Value& file, const std::string& source, const Vocabulary& vocabulary) {
  for (const std::string& scale : scale_names()) {
    const std::string where = source + " at scale " + scale;
    const Value scaled = with_scale(file, scale, source);
    (void)Parser(scaled, where, vocabulary).parse(scale);
    if (!has_stand_in(file, scale)) continue;
    const Value with_stand_in = with_scale(file, scale, source, Inputs::kStandIn);
    (void)Parser(with_stand_in, where + " with its stand_in", vocabulary).parse(scale);
  }
}

}  // namespace

Experiment parse_experiment(const Value& file, const std::string& source, const std::string& scale,
                            const std::vector<std::string>& overrides, const Vocabulary& vocabulary,
                            Inputs inputs) {
  Value wanted = with_scale(file, scale, source, inputs);
  Experiment experiment = Parser(wanted, source, vocabulary).parse(scale);
  check_all_scales(file, source, vocabulary);
  const bool can_stand_in = inputs == Inputs::kNamed && has_stand_in(file, scale);
  experiment.has_stand_in = can_stand_in;
  if (overrides.empty()) return experiment;
  for (const std::string& text : overrides) apply_set(wanted, text, file);
  Parser parser(wanted, source + " with --set", vocabulary);
  try {
    experiment = parser.parse(scale);
  } catch (const Error& error) {
    const std::string by_scale = set_by_scale(file, scale, overrides);
    if (by_scale.empty()) throw;
    const std::string fault = error.what();
    raise("{}{}{}", fault, fault.ends_with('.') ? "" : ".", by_scale);
  }
  require_effect(overrides, parser.unused_settings());
  experiment.has_stand_in = can_stand_in;
  return experiment;
}

Experiment load_experiment(const std::filesystem::path& path, const std::string& scale,
                           const std::vector<std::string>& overrides, const Vocabulary& vocabulary,
                           Inputs inputs) {
  const Value file = parse_json(read_file(path, kMostBytes), path.string());
  return parse_experiment(file, path.string(), scale, overrides, vocabulary, inputs);
}

}  // namespace reprise::experiments
