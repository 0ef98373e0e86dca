// Prompt Cache as a method of a kind that times requests: a schema whose modules are encoded before
// the first request, and imported by each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/store/segment_store.h"
#include "experiments/framework/kind.h"
#include "methods/prompt_cache/options.h"
#include "methods/prompt_cache/prompt_cache.h"

namespace reprise::experiments {

inline constexpr const char* kPromptCache = "prompt_cache";

// For KindInfo::own_methods.
[[nodiscard]] OwnMethod prompt_cache_method();

struct ModuleLaneOptions {
  prompt_cache::PromptCacheOptions cache;
  // Where the modules' states lie when a request comes: in memory; in files that the system has in
  // memory; in files that it has not; in the memory of the device that computes.
  std::string tier = "host";  // "host", "disk", "cold_disk", "device"

  [[nodiscard]] bool is_in_files() const { return tier == "disk" || tier == "cold_disk"; }
  void visit(reuse::OptionVisitor& visitor);
  static std::vector<reuse::Preset<ModuleLaneOptions>> presets();
};

class ModuleLane {
 public:
  // Encodes the schema's modules. `decoder` must outlive the lane.
  ModuleLane(const Json& options, model::Decoder& decoder, const Context& context,
             pml::CompiledSchema schema, prompt_cache::EncodeOptions encode);

  // Throws Error, with the remedy, where such a lane is not for this device.
  static void check(const Json& options, Device device);

  // Tokens whose keys and values such a lane holds in memory at once, before any lane is made:
  // those of every text that it encodes, where these do not lie in files, and those that a request
  // copies, which may be all of the schema.
  [[nodiscard]] static int64_t held_tokens(const Json& options, const pml::CompiledSchema& schema);

  // Adds what the lane's engine needs to its options.
  void join(engine::EngineOptions& options) const;
  [[nodiscard]] double encode_ms() const { return encode_ms_; }
  [[nodiscard]] int64_t module_bytes() const;

  // Before each request: drops the modules' files from memory where the tier says so. Throws Error
  // where the system keeps them (a folder in memory).
  void make_cold() const;
  // Rate of a plain read of the modules' files from the cold disk, in GB/s; 0 for other tiers.
  [[nodiscard]] double disk_gb_s() const;

  [[nodiscard]] const pml::CompiledSchema& schema() const { return *schema_; }

  // A request with a prompt that is derived from the schema: prepared, with its imports attached.
  engine::Request prepare(int64_t id, const pml::CompiledPrompt& prompt, int64_t new_tokens,
                          prompt_cache::PreparedPrompt& prepared);
  void done(int64_t id) { imports_->detach(id); }

 private:
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  ModuleLaneOptions options_;
  std::shared_ptr<const std::filesystem::path> folder_;  // removed with the lane; null: no files
  model::Decoder& decoder_;
  Context context_;
  std::unique_ptr<const pml::CompiledSchema> schema_;
  std::unique_ptr<kv::SegmentStore> store_;
  std::unique_ptr<prompt_cache::ModuleStates> states_;
  std::shared_ptr<prompt_cache::ModuleImports> imports_;
  prompt_cache::CopyBuffer copy_buffer_;
  double encode_ms_ = 0;
};

}  // namespace reprise::experiments
