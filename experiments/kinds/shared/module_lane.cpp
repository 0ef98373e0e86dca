#include "experiments/kinds/shared/module_lane.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/page_cache.h"
#include "core/base/temporary_folder.h"
#include "core/reuse/options.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {
namespace {

ModuleLaneOptions read(const JsonObject& given) {
  return reuse::read_options<ModuleLaneOptions>(given);
}

}  // namespace

void ModuleLaneOptions::visit(reuse::OptionVisitor& visitor) {
  cache.visit(visitor);
  visitor.word({"tier", "",
                "where the modules lie when a request comes: in memory, in files that the system "
                "has in memory, in files that it has not, in the memory of the device that "
                "computes (with --device cuda, which copies them there from the others)"},
               {"host", "disk", "cold_disk", "device"}, tier);
}

std::vector<reuse::Preset<ModuleLaneOptions>> ModuleLaneOptions::presets() {
  std::vector<reuse::Preset<ModuleLaneOptions>> presets;
  for (const auto& of_cache : prompt_cache::PromptCacheOptions::presets())
    presets.push_back({of_cache.name, of_cache.help, {.cache = of_cache.options}});
  return presets;
}

OwnMethod prompt_cache_method() {
  return {
      .name = kPromptCache,
      .help = "what is shared as modules that are encoded once and imported [Prompt Cache]",
      .resolve_options = [](const JsonObject& given) { return reuse::options_json(read(given)); },
      .list_options = reuse::list_options<ModuleLaneOptions>};
}

ModuleLane::ModuleLane(const Json& options, model::Decoder& decoder, const Context& context,
                       pml::CompiledSchema schema, prompt_cache::EncodeOptions encode)
    : options_(read(JsonObject(options, "options of method \"prompt_cache\""))),
      decoder_(decoder),
      context_(context),
      schema_(std::make_unique<const pml::CompiledSchema>(std::move(schema))),
      imports_(std::make_shared<prompt_cache::ModuleImports>()) {
  const prompt_cache::Mode mode = prompt_cache::mode_named(options_.cache.mode);
  kv::SegmentStoreOptions of_store{.runtime = decoder.runtime()};
  if (!options_.is_in_files()) {
    // At least one: a schema may have nothing to keep.
    of_store.host_bytes =
        std::max<int64_t>(1, prompt_cache::state_bytes(prompt_cache::encoding_of(*schema_, mode),
                                                       decoder.config(), encode.kv_dtype));
    if (options_.tier == "device") encode.device_bytes = of_store.host_bytes;
  } else {
    folder_ = make_temporary_folder("modules");
    of_store.directory = *folder_;
    of_store.verify = kv::Verify::kHeader;
  }
  store_ = std::make_unique<kv::SegmentStore>(of_store);
  states_ = std::make_unique<prompt_cache::ModuleStates>(decoder, *store_, *schema_, mode,
                                                         kv::StoreIdentity{}, encode);
  const int64_t begin_ns = now_ns();
  states_->encode();
  encode_ms_ = static_cast<double>(now_ns() - begin_ns) * 1e-6;
}

void ModuleLane::check(const Json& given, Device device) {
  const ModuleLaneOptions options = read(JsonObject(given, "options of method \"prompt_cache\""));
  if (options.tier == "device" && device == Device::kCpu)
    raise(
        "modules in the tier \"device\" of method \"prompt_cache\" lie in a GPU's memory: use "
        "--device cuda, or the tier \"host\", where a CPU reads them in place");
}

int64_t ModuleLane::held_tokens(const Json& given, const pml::CompiledSchema& schema) {
  const ModuleLaneOptions options = read(JsonObject(given, "options of method \"prompt_cache\""));
  int64_t tokens = options.cache.copies ? schema.length : 0;
  if (options.is_in_files()) return tokens;
  const prompt_cache::Encoding encoding =
      prompt_cache::encoding_of(schema, prompt_cache::mode_named(options.cache.mode));
  for (const prompt_cache::StateUnit& unit : encoding.units) tokens += unit.tokens;
  return tokens;
}

engine::Request ModuleLane::prepare(int64_t id, const pml::CompiledPrompt& prompt,
                                    int64_t new_tokens, prompt_cache::PreparedPrompt& prepared) {
  prepared = prompt_cache::prepare(*states_, decoder_, prompt,
                                   {.repair_ratio = options_.cache.repair_ratio,
                                    .copies = options_.cache.copies,
                                    .copy_buffer = &copy_buffer_},
                                   context_);
  imports_->attach(id, prepared.runs);
  return prompt_cache::request_of(prepared, id, static_cast<int32_t>(new_tokens));
}

void ModuleLane::join(engine::EngineOptions& options) const {
  options.contributors.push_back(imports_);
  options.policy = std::make_shared<prompt_cache::ReadyLayers>(imports_);
}

int64_t ModuleLane::module_bytes() const {
  return store_->stats().host_bytes + store_->stats().disk_bytes;
}

std::vector<std::filesystem::path> ModuleLane::files() const {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(*folder_))
    if (entry.path().extension() == ".segment") found.push_back(entry.path());
  return found;
}

void ModuleLane::make_cold() const {
  if (options_.tier != "cold_disk") return;
  for (const std::filesystem::path& file : files())
    if (const int64_t kept = drop_from_page_cache(file); kept > 0)
      raise(
          "{} keeps {} bytes in memory, so that reading it does not tell the disk's rate: set "
          "TMPDIR to a folder on a disk",
          file.string(), kept);
}

double ModuleLane::disk_gb_s() const {
  if (options_.tier != "cold_disk") return 0;
  make_cold();
  int64_t bytes = 0;
  const int64_t begin_ns = now_ns();
  for (const std::filesystem::path& file : files()) bytes += read_through(file);
  return static_cast<double>(bytes) / static_cast<double>(now_ns() - begin_ns);
}

}  // namespace reprise::experiments
