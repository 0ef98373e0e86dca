#include "methods/attn_cache/method_options.h"

#include <algorithm>

#include "core/base/error.h"
#include "methods/attn_cache/train.h"
#include "methods/registry.h"

namespace reprise::methods {
namespace {

constexpr const char* kTrained = "trained";
constexpr const char* kCold = "cold";
constexpr const char* kFile = "projector_file";
constexpr const char* kBeside = "beside";
constexpr const char* kMethod = "method";

// Reads {"method": NAME, option: value, ...}.
void read_beside(JsonObject given, AttnCacheMethodOptions& options) {
  options.beside = given.string(kMethod);
  std::vector<std::string> known;
  for (const MethodEntry& entry : known_methods())
    if (entry.info.is_policy && entry.info.exactness == Exactness::kApproximate)
      known.push_back(entry.info.name);
  if (std::find(known.begin(), known.end(), options.beside) == known.end())
    raise("{}: {}", given.where(kMethod),
          unknown_name("method beside attn_cache", options.beside, known));
  options.beside_options = given.fields();
  options.beside_options.erase(kMethod);
  const std::string where = given.where(kMethod);
  (void)resolve_options(options.beside, JsonObject(options.beside_options, where));
}

}  // namespace

Fields resolve_attn_cache_options(const JsonObject& given) {
  const AttnCacheMethodOptions options = read_attn_cache_options(given);
  Fields all = reuse::options_fields(options);
  all[kFile] = options.projector_file;
  if (options.beside.empty()) return all;
  Fields beside = resolve_options(options.beside, JsonObject(options.beside_options, kBeside));
  beside[kMethod] = options.beside;
  all[kBeside] = beside;
  return all;
}

reuse::OptionList list_attn_cache_options() {
  reuse::OptionList all = reuse::list_options<AttnCacheMethodOptions>();
  all.options.push_back({.name = kFile,
                         .fallback = "",
                         .accepted = "a path",
                         .unit = "",
                         .help = "a projector that was trained before, for the same model",
                         .is_file = true});
  all.options.push_back({.name = kBeside,
                         .fallback = "",
                         .accepted = "{\"method\": NAME, its options}",
                         .unit = "",
                         .help = "a method of layers that runs beside AttnCache: where AttnCache "
                                 "misses, or always where it leaves layers out"});
  return all;
}

void AttnCacheMethodOptions::visit(reuse::OptionVisitor& visitor) {
  attn_cache::AttnCacheOptions::visit(visitor);
  visitor.word({"projector_from", "", "mlp, pooled_linear: trained by libtorch, or random weights"},
               {kTrained, "random"}, projector_from);
  visitor.word({"loading", "",
                "maps that an earlier turn used are mapped and checked already, or in each turn "
                "anew; the file is in the system's memory either way"},
               {"warm", kCold}, loading);
  visitor.real({"memory_mb", "MB",
                "maps that stay in memory, of the texts stored first; each turn reads the others' "
                "from the disk anew, 0: the system decides"},
               {0.0, 1e9}, memory_mb);
  visitor.real({"loss_bound", "",
                "beyond the paper: training texts choose the threshold so that half of 1 less the "
                "cosine of outputs with and without reuse (with beside: those of the other method "
                "alone) is at most this on average, 0: they do not"},
               {0.0, 1.0}, loss_bound);
}

void AttnCacheMethodOptions::check(const JsonObject& given) const {
  attn_cache::AttnCacheOptions::check(given);
  if (loss_bound > 0 && layer_group != 0)
    raise("{}: a threshold is chosen for one lookup that decides all layers: leave layer_group 0",
          given.where("loss_bound"));
  if (loss_bound > 0 && given.has("threshold"))
    raise(
        "{}: loss_bound chooses the threshold, and threshold {} is given too, as an option or as "
        "an axis: leave one of the two out",
        given.where("loss_bound"), threshold);
}

std::vector<reuse::Preset<AttnCacheMethodOptions>> AttnCacheMethodOptions::presets() {
  std::vector<reuse::Preset<AttnCacheMethodOptions>> all;
  for (const auto& preset : attn_cache::AttnCacheOptions::presets()) {
    AttnCacheMethodOptions options;
    static_cast<attn_cache::AttnCacheOptions&>(options) = preset.options;
    all.push_back({preset.name, preset.help, std::move(options)});
  }
  return all;
}

bool AttnCacheMethodOptions::begins_cold() const { return loading == kCold; }

bool AttnCacheMethodOptions::trains() const {
  return projector != "raw" && projector_file.empty() && projector_from == kTrained;
}

AttnCacheMethodOptions read_attn_cache_options(const JsonObject& given) {
  JsonObject object = given;
  const std::string file = object.string(kFile, "");
  AttnCacheMethodOptions beside;
  if (object.has(kBeside)) read_beside(object.object(kBeside), beside);
  auto options = reuse::read_options<AttnCacheMethodOptions>(object);
  options.projector_file = file;
  options.beside = std::move(beside.beside);
  options.beside_options = std::move(beside.beside_options);
  return options;
}

std::string attn_cache_absence(const AttnCacheMethodOptions& chosen) {
  if (const std::string absence = attn_cache::index_absence(chosen.index_options().kind);
      !absence.empty())
    return absence;
  if (!chosen.trains() || attn_cache::training_absence().empty()) return "";
  return attn_cache::training_absence() +
         " Or name a trained one (projector_file), or take what needs no training: preset "
         "\"raw\", or random weights (projector_from).";
}

}  // namespace reprise::methods
