// Prompt Cache as a method: encodes the prefixes that prompts share, or the modules of a schema,
// and imports them into each request.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/module_shaper.h"
#include "methods/prompt_cache/plain_schema.h"
#include "methods/prompt_cache/pml/markup.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/schema_file.h"
#include "methods/registry.h"

namespace reprise::methods {
namespace {

using prompt_cache::PromptCacheOptions;

const MetricInfo kLookupMs = {"lookup_ms", "ms",
                              "finding the modules' states, and computing those that are gone",
                              /*has_percentiles=*/true};
const MetricInfo kCopyMs = {"copy_ms", "ms",
                            "gathering them in one buffer, where that is asked for",
                            /*has_percentiles=*/true};
const MetricInfo kRepairMs = {"repair_ms", "ms", "computing tokens of modules anew (mode repair)",
                              /*has_percentiles=*/true};
const MetricInfo kCopiedMb = {"copied_mb", "MB", "keys and values copied for each request"};
const MetricInfo kDiskGbS = {"disk_gb_s", "GB/s",
                             "plain reading of the modules' files from the cold disk (tier "
                             "cold_disk)"};
const MetricInfo kModuleMb = {"module_mb", "MB", "states of all modules held"};
const MetricInfo kImportedTokens = {"reused_tokens", "tokens",
                                    "prompt tokens whose states were imported"};

// Delimiters of a part that may precede a file's root element, e.g. "<!--" and "-->".
struct Skipped {
  std::string_view begin, end;
};
constexpr Skipped kSkipped[] = {{"<?", "?>"}, {"<!--", "-->"}};

// True if the text's root element is <prompt>.
bool has_markup(std::string_view text) {
  constexpr std::string_view kRoot = "<prompt";
  text = without_byte_order_mark(text);
  for (bool goes_on = true; goes_on;) {
    text.remove_prefix(std::min(text.find_first_not_of(pml::kBlank), text.size()));
    goes_on = false;
    for (const Skipped& skipped : kSkipped) {
      const size_t end = text.starts_with(skipped.begin) ? text.find(skipped.end) : text.npos;
      if (end == text.npos) continue;
      text.remove_prefix(end + skipped.end.size());
      goes_on = true;
    }
  }
  if (!text.starts_with(kRoot) || text.size() == kRoot.size()) return false;
  const char next = text[kRoot.size()];
  return next == '>' || next == '/' || pml::kBlank.find(next) != std::string_view::npos;
}

// Throws Error if the option "cache" does not name a cache.
void check_cache(JsonObject given) {
  const std::string name = given.string("cache", PromptCacheOptions{}.cache);
  std::vector<std::string> caches;
  for (const MethodEntry& entry : known_methods())
    if (entry.info.is_cache) caches.push_back(entry.info.name);
  if (std::find(caches.begin(), caches.end(), name) == caches.end())
    raise("{}: {}", given.where("cache"), unknown_name("cache", name, caches));
}

class PromptCacheMethod final : public Method {
 public:
  PromptCacheMethod(MethodInfo info, const PromptCacheOptions& options)
      : info_(std::move(info)), options_(options) {}
  [[nodiscard]] const MethodInfo& info() const override { return info_; }

  void check(const Use& use) const override {
    if (!use.has_model)
      raise(
          "method \"{}\" encodes modules with the model, and here steps are modelled: leave "
          "modelled_step_ms and its kin out",
          info_.name);
    if (options_.tier == "device" && use.device == Device::kCpu)
      raise(
          "modules in the tier \"device\" of method \"{}\" lie in a GPU's memory: use --device "
          "cuda, or the tier \"host\", where a CPU reads them in place",
          info_.name);
    if (options_.tier == "cold_disk" && !use.has_turns)
      raise(
          "the tier \"cold_disk\" of method \"{}\" drops the modules' files from the page cache "
          "before each measured request, which only kinds \"ttft\" and \"pml\" do: use the tier "
          "\"disk\"",
          info_.name);
  }

  [[nodiscard]] int64_t held_tokens(const Use& use) const override {
    int64_t held = 0, longest = 0;
    for (const prompt_cache::SharedSchema& shared : schemas(use)) {
      longest = std::max(longest, shared.schema.length);
      for (const prompt_cache::StateUnit& unit : encoding(shared.schema).units) held += unit.tokens;
    }
    // Each request has copies, or tokens that are computed again, of its own.
    double private_share = options_.mode == "repair" ? options_.repair_ratio : 0;
    if (options_.copies) private_share = 1;
    const auto own = static_cast<int64_t>(std::ceil(private_share * static_cast<double>(longest)));
    return (options_.is_in_files() ? 0 : held) + own * use.requests;
  }

  void prepare(const Setup& setup) override {
    check(setup.use);
    REPRISE_CHECK(setup.decoder != nullptr, "a setup without a decoder");
    has_one_piece_ = setup.use.markup == nullptr && setup.use.modules.empty() &&
                     std::all_of(setup.use.prefixes.begin(), setup.use.prefixes.end(),
                                 [](const Prefix& prefix) { return prefix.size() <= 1; });
    reads_markup_ = setup.use.markup != nullptr;
    if (reads_markup_) {
      is_lenient_ = setup.use.markup->is_lenient;
      encoder_ = pml::encoder_of(*setup.use.markup->tokenizer);
      max_positions_ = layout(*setup.use.markup).max_positions;
    }
    std::vector<prompt_cache::SharedSchema> all = schemas(setup.use);
    spared_tokens_ = 0;
    if (setup.use.always_has_prefix && !all.empty()) {
      // If nothing follows the prefix, its last token is computed instead of imported.
      const auto shortest = std::min_element(
          all.begin(), all.end(),
          [](const auto& a, const auto& b) { return a.schema.length < b.schema.length; });
      spared_tokens_ = static_cast<int32_t>(shortest->schema.length) - 1;
    }
    shaper_ = std::make_shared<prompt_cache::ModuleShaper>(
        options_, std::move(all), *setup.decoder, setup.context,
        prompt_cache::EncodeOptions{
            .kv_dtype = setup.kv_dtype, .step_tokens = setup.step_tokens, .between = setup.between},
        /*folder=*/"", kv::StoreIdentity{});
  }

  [[nodiscard]] Parts parts() override {
    Parts parts;
    parts.contributors = {shaper_->imports()};
    parts.policy = std::make_shared<prompt_cache::ReadyLayers>(shaper_->imports());
    parts.shaper = shaper_;
    parts.cache_name = options_.cache;
    parts.spared_tokens = spared_tokens_;
    return parts;
  }

  // A single module at the beginning of prompts is an exact prefix. With several modules the method
  // is approximate, because modules do not see each other.
  [[nodiscard]] Exactness exactness() const override {
    return has_one_piece_ ? Exactness::kExact : Exactness::kApproximate;
  }

  [[nodiscard]] std::optional<engine::Request> read(const std::string& text,
                                                    const std::string& source) const override {
    if (!reads_markup_ || !has_markup(text)) return std::nullopt;
    pml::Source prompt(source, text);
    std::vector<std::string> notes;  // not used here: compile_pml() has reported them
    if (is_lenient_) prompt = pml::with_strays_as_text(prompt, notes);
    const pml::CompiledSchema& schema = shaper_->schema();
    return prompt_cache::derived_request(
        schema, pml::compile_prompt(pml::parse_prompt(prompt), schema, encoder_, max_positions_));
  }

  [[nodiscard]] int64_t peak_held_bytes() const override {
    return shaper_->module_bytes() + shaper_->peak_private_bytes();
  }
  void begin_turn() override { shaper_->make_cold(); }
  [[nodiscard]] TurnCounts counts() const override {
    const prompt_cache::PrepareTimes& times = shaper_->use().times;
    return {.parts = {{&kLookupMs, (times.lookup_s + times.encode_s) * 1e3},
                      {&kCopyMs, times.copy_s * 1e3},
                      {&kRepairMs, times.repair_s * 1e3}}};
  }

  void report(ReportSink& sink) const override {
    const prompt_cache::ModuleUse& use = shaper_->use();
    sink.metric(kImportedTokens, static_cast<double>(use.imported_tokens));
    sink.metric(kCopiedMb, static_cast<double>(use.copied_bytes) * 1e-6);
    sink.metric(kModuleMb, static_cast<double>(shaper_->module_bytes()) * 1e-6);
    if (const double gb_s = shaper_->disk_gb_s(); gb_s > 0) sink.metric(kDiskGbS, gb_s);
  }

 private:
  [[nodiscard]] prompt_cache::Encoding encoding(const pml::CompiledSchema& schema) const {
    return prompt_cache::encoding_of(schema, prompt_cache::mode_named(options_.mode));
  }
  [[nodiscard]] pml::LayoutOptions layout(const Markup& markup) const {
    return prompt_cache::layout_options({.model = markup.model,
                                         .chat_template = markup.chat_template,
                                         .is_as_coded = options_.rules == "as_coded",
                                         .has_random_weights = markup.has_random_weights},
                                        *markup.tokenizer);
  }
  [[nodiscard]] pml::CompiledSchema compiled(const Markup& markup) const {
    std::vector<std::string> notes;  // not used here: compile_pml() has reported them
    const pml::Source source = pml::read_source(markup.schema, markup.is_lenient, notes);
    return pml::compile_schema(pml::parse_schema(source), pml::encoder_of(*markup.tokenizer),
                               layout(markup));
  }
  // Returns the schema of use.markup, a schema of use.modules, and one schema for each of
  // use.prefixes.
  [[nodiscard]] std::vector<prompt_cache::SharedSchema> schemas(const Use& use) const {
    std::vector<prompt_cache::SharedSchema> all;
    using prompt_cache::ImportedBy;
    if (use.markup != nullptr) all.push_back({.schema = compiled(*use.markup)});
    if (!use.modules.empty())
      all.push_back({.schema = prompt_cache::plain_schema({use.modules.begin(), use.modules.end()}),
                     .by = ImportedBy::kAnyOrder});
    for (const Prefix& prefix : use.prefixes)
      if (!prefix.empty())
        all.push_back({.schema = prompt_cache::plain_schema(prefix), .by = ImportedBy::kPrefix});
    return all;
  }

  MethodInfo info_;
  PromptCacheOptions options_;
  bool reads_markup_ = false;
  bool is_lenient_ = false;   // of the markup
  pml::TextEncoder encoder_;  // encoder of the markup's tokenizer
  int64_t max_positions_ = 0;
  bool has_one_piece_ = false;
  int32_t spared_tokens_ = 0;
  std::shared_ptr<prompt_cache::ModuleShaper> shaper_;
};

}  // namespace

MethodEntry prompt_cache_method() {
  MethodEntry entry = method_entry<PromptCacheOptions>(
      {.name = "prompt_cache",
       .summary = "what is shared as modules that are encoded once and imported",
       .paper = "Prompt Cache",
       .exactness = Exactness::kApproximate,
       .look = {},
       .cannot_prefill = "it imports keys and values, which prompts that nothing is generated "
                         "behind do not read",
       .metrics = {kCopiedMb, kModuleMb},
       .turn_parts = {kLookupMs, kCopyMs, kRepairMs},
       .turn_metrics = {kDiskGbS},
       .reads_markup = true},
      [](MethodInfo of, const PromptCacheOptions& options) {
        return std::make_unique<PromptCacheMethod>(std::move(of), options);
      });
  entry.resolve_options = [resolve = entry.resolve_options](const JsonObject& given) {
    check_cache(given);
    return resolve(given);
  };
  entry.make = [make = entry.make](const JsonObject& given) {
    check_cache(given);
    return make(given);
  };
  return entry;
}

}  // namespace reprise::methods
