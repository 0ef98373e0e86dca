// Prepares requests for their engine: finds the modules that a prompt imports, attaches their
// states, and leaves the other tokens to be computed. [Prompt Cache §3.4]
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/engine/request_shaper.h"
#include "core/model/network/decoder.h"
#include "core/store/segment_store.h"
#include "methods/prompt_cache/options.h"
#include "methods/prompt_cache/prompt_cache.h"

namespace reprise::prompt_cache {

// The markup of a prompt that is derived from the shaper's schema.
class DerivedPrompt final : public engine::PromptMarkup {
 public:
  explicit DerivedPrompt(pml::CompiledPrompt prompt) : prompt_(std::move(prompt)) {}
  [[nodiscard]] const pml::CompiledPrompt& prompt() const { return prompt_; }
  [[nodiscard]] int64_t computed_tokens() const override { return prompt_.new_tokens; }

 private:
  pml::CompiledPrompt prompt_;
};

// Which prompts import the modules of a schema.
enum class ImportedBy : uint8_t {
  kMarkup,   // prompts with the schema's markup
  kPrefix,   // plain prompts that begin with all modules, in the schema's order
  kAnyOrder  // plain prompts that begin with some modules, each once, in any order
};

struct SharedSchema {
  pml::CompiledSchema schema;
  ImportedBy by = ImportedBy::kMarkup;
};

// Makes the request for `prompt`, which is derived from `schema`. The request has all tokens of the
// prompt, their positions, and the prompt's markup.
engine::Request derived_request(const pml::CompiledSchema& schema, pml::CompiledPrompt prompt);

// Counts of the imports since the shaper was made.
struct ModuleUse {
  int64_t imported_tokens = 0;  // summed over requests
  // The members below describe the latest request alone.
  int64_t latest_tokens = 0;  // imported tokens
  int64_t repaired_tokens = 0, copied_bytes = 0;
  std::string unwritten;  // see EncodeReport
  PrepareTimes times;
};

class ModuleShaper final : public engine::RequestShaper {
 public:
  // Encodes the modules of all schemas, or finds them in `folder` ("": states are kept where the
  // option "tier" says). `decoder` must outlive the shaper. `encode.between` is called only by the
  // constructor. Throws Error if memory or disk have no room.
  ModuleShaper(const PromptCacheOptions& options, std::vector<SharedSchema> schemas,
               model::Decoder& decoder, const Context& context, EncodeOptions encode,
               const std::string& folder, const kv::StoreIdentity& whose);

  // Computes states that are missing. Throws as prepare().
  void shape(engine::Request& request) override;
  void done(engine::RequestId id) override;
  // Removes damaged files, so that the next request computes their modules anew. Returns the number
  // of modules removed. Call it after a step over imported states has failed.
  int32_t drop_damaged();
  [[nodiscard]] bool imports_prefixes() const override { return true; }

  [[nodiscard]] const std::shared_ptr<ModuleImports>& imports() const { return imports_; }
  // The schema of prompts with markup. There must be one (CHECK).
  [[nodiscard]] const pml::CompiledSchema& schema() const { return *of_markup().schema; }
  // Counts of what the constructor computed for all schemas.
  [[nodiscard]] const EncodeReport& encoded() const { return encoded_; }
  [[nodiscard]] const ModuleUse& use() const { return use_; }
  [[nodiscard]] int64_t module_bytes() const;
  // Most bytes of keys and values that requests held for themselves at once: copies, and states
  // that were computed again.
  [[nodiscard]] int64_t peak_private_bytes() const { return peak_private_bytes_; }
  // For tier "cold_disk": removes the modules' files from the system's page cache. Throws Error if
  // the system keeps them (a folder in memory).
  void make_cold() const;
  // Rate in GB/s at which the modules' files are read from the cold disk; 0 for other tiers.
  [[nodiscard]] double disk_gb_s() const;

 private:
  struct Known {
    std::unique_ptr<const pml::CompiledSchema> schema;
    ImportedBy by;
    std::vector<int32_t> tokens;  // kPrefix: the tokens of all modules
    std::unique_ptr<ModuleStates> states;
  };
  // Modules with which a prompt begins, and the number of their tokens.
  struct Beginning {
    const Known* known = nullptr;  // null: the prompt begins with no module
    std::vector<int32_t> modules;
    size_t tokens = 0;
  };

  [[nodiscard]] kv::SegmentStoreOptions store_options(const std::vector<SharedSchema>& schemas,
                                                      EncodeOptions& encode,
                                                      const std::string& folder);
  // The longest known beginning of a plain prompt.
  [[nodiscard]] Beginning beginning_of(const std::vector<int32_t>& prompt) const;
  [[nodiscard]] static Beginning modules_of(const Known& known, const std::vector<int32_t>& prompt);
  [[nodiscard]] const Known& of_markup() const;
  // Imports the modules of `prompt`; with `drops_last`, all imported tokens but the last.
  void import(const Known& known, const pml::CompiledPrompt& prompt, bool drops_last,
              engine::Request& request);
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  PromptCacheOptions options_;
  std::shared_ptr<const std::filesystem::path> folder_;  // null: no temporary folder
  model::Decoder& decoder_;
  Context context_;
  std::unique_ptr<kv::SegmentStore> store_;
  std::vector<Known> known_;
  EncodeReport encoded_;
  std::shared_ptr<ModuleImports> imports_;
  CopyBuffer copy_buffer_;
  std::unordered_map<engine::RequestId, int64_t> private_bytes_;  // of requests under way
  int64_t all_private_bytes_ = 0, peak_private_bytes_ = 0;
  ModuleUse use_;
};

}  // namespace reprise::prompt_cache
