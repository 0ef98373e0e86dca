#include "methods/prompt_cache/module_shaper.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/page_cache.h"
#include "core/base/steady_now.h"
#include "core/base/temporary_folder.h"
#include "methods/prompt_cache/plain_schema.h"

namespace reprise::prompt_cache {
namespace {

// True if `tokens` occur in `prompt` at index `at`.
bool has_at(const std::vector<int32_t>& prompt, size_t at, const std::vector<int32_t>& tokens) {
  return prompt.size() >= at + tokens.size() &&
         std::equal(tokens.begin(), tokens.end(), prompt.begin() + static_cast<std::ptrdiff_t>(at));
}

std::vector<int32_t> tokens_of(const pml::CompiledSchema& schema) {
  std::vector<int32_t> tokens;
  for (const pml::Piece& piece : schema.pieces)
    tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
  return tokens;
}

// Removes the last token from the imports.
void drop_last(PreparedPrompt& prepared) {
  --prepared.imported_tokens;
  if (--prepared.runs.back().tokens == 0) prepared.runs.pop_back();
}

}  // namespace

engine::Request derived_request(const pml::CompiledSchema& schema, pml::CompiledPrompt prompt) {
  engine::Request request;
  place({.fresh = whole_prompt(schema, prompt, Positions::kGapped)}, request);
  request.markup = std::make_shared<const DerivedPrompt>(std::move(prompt));
  return request;
}

ModuleShaper::ModuleShaper(const PromptCacheOptions& options, std::vector<SharedSchema> schemas,
                           model::Decoder& decoder, const Context& context, EncodeOptions encode,
                           const std::string& folder, const kv::StoreIdentity& whose)
    : options_(options),
      decoder_(decoder),
      context_(context),
      store_(std::make_unique<kv::SegmentStore>(store_options(schemas, encode, folder))),
      imports_(std::make_shared<ModuleImports>()) {
  for (SharedSchema& shared : schemas) {
    Known known{.schema = std::make_unique<const pml::CompiledSchema>(std::move(shared.schema)),
                .by = shared.by,
                .tokens = {},
                .states = nullptr};
    if (known.by == ImportedBy::kPrefix) known.tokens = tokens_of(*known.schema);
    known.states = std::make_unique<ModuleStates>(decoder_, *store_, *known.schema,
                                                  mode_named(options_.mode), whose, encode);
    encoded_ += known.states->encode();
    known_.push_back(std::move(known));
  }
}

kv::SegmentStoreOptions ModuleShaper::store_options(const std::vector<SharedSchema>& schemas,
                                                    EncodeOptions& encode,
                                                    const std::string& folder) {
  if (!folder.empty()) {
    encode.keeps_unwritten = true;  // the user's request is served even if nothing can be kept
    return {.directory = folder, .verify = kv::Verify::kHeader};
  }
  if (options_.is_in_files()) {
    folder_ = make_temporary_folder("modules");
    return {.directory = *folder_, .verify = kv::Verify::kHeader, .runtime = decoder_.runtime()};
  }
  int64_t bytes = 0;
  for (const SharedSchema& shared : schemas)
    bytes += state_bytes(encoding_of(shared.schema, mode_named(options_.mode)), decoder_.config(),
                         encode.kv_dtype);
  bytes = std::max<int64_t>(bytes, 1);  // a schema may have no text to keep
  if (options_.tier == "device") encode.device_bytes = bytes;
  return {.host_bytes = bytes, .runtime = decoder_.runtime()};
}

ModuleShaper::Beginning ModuleShaper::beginning_of(const std::vector<int32_t>& prompt) const {
  Beginning longest;
  for (const Known& known : known_) {
    if (known.by == ImportedBy::kMarkup) continue;
    Beginning found = modules_of(known, prompt);
    if (found.tokens > longest.tokens) longest = std::move(found);
  }
  return longest;
}

ModuleShaper::Beginning ModuleShaper::modules_of(const Known& known,
                                                 const std::vector<int32_t>& prompt) {
  const std::vector<pml::Piece>& pieces = known.schema->pieces;
  Beginning beginning{.known = &known};
  if (known.by == ImportedBy::kPrefix) {
    if (!has_at(prompt, 0, known.tokens)) return {};
    beginning.modules.resize(pieces.size());
    std::iota(beginning.modules.begin(), beginning.modules.end(), 0);
    beginning.tokens = known.tokens.size();
    return beginning;
  }
  std::vector<bool> is_taken(pieces.size());
  for (;;) {
    size_t longest = pieces.size();
    for (size_t i = 0; i < pieces.size(); ++i)
      if (!is_taken[i] && has_at(prompt, beginning.tokens, pieces[i].tokens) &&
          (longest == pieces.size() || pieces[i].tokens.size() > pieces[longest].tokens.size()))
        longest = i;
    // The prompt's last token is never imported: it must be computed.
    if (longest == pieces.size() ||
        beginning.tokens + pieces[longest].tokens.size() == prompt.size())
      break;
    is_taken[longest] = true;
    beginning.modules.push_back(static_cast<int32_t>(longest));
    beginning.tokens += pieces[longest].tokens.size();
  }
  return beginning;
}

const ModuleShaper::Known& ModuleShaper::of_markup() const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [](const Known& one) { return one.by == ImportedBy::kMarkup; });
  REPRISE_CHECK(found != known_.end(), "a prompt with markup, and no schema");
  return *found;
}

void ModuleShaper::shape(engine::Request& request) {
  if (const auto* derived = dynamic_cast<const DerivedPrompt*>(request.markup.get())) {
    import(of_markup(), derived->prompt(), /*drops_last=*/false, request);
    return;
  }
  // A request that has positions, or asks for the logits of all its tokens, imports nothing.
  if (!request.positions.empty() || request.logits == engine::LogitsMode::kAll) return;
  Beginning beginning = beginning_of(request.prompt);
  if (beginning.tokens == 0) return;
  const Known& known = *beginning.known;
  const auto count = static_cast<std::ptrdiff_t>(beginning.tokens);
  std::vector<int32_t> own(request.prompt.begin() + count, request.prompt.end());
  // The logits of the first answer token need a computed token. If no token follows the prefix, its
  // last token is computed.
  const bool is_prefix_alone = own.empty();
  if (is_prefix_alone) own.push_back(request.prompt.back());
  pml::CompiledPrompt prompt =
      plain_prompt(*known.schema, std::move(beginning.modules), std::move(own));
  if (is_prefix_alone) --prompt.new_runs.front().first;
  import(known, prompt, /*drops_last=*/is_prefix_alone, request);
}

void ModuleShaper::import(const Known& known, const pml::CompiledPrompt& prompt, bool drops_last,
                          engine::Request& request) {
  PreparedPrompt prepared = prepare(*known.states, decoder_, prompt,
                                    {.repair_ratio = options_.repair_ratio,
                                     .copies = options_.copies,
                                     .copy_buffer = &copy_buffer_},
                                    context_);
  if (drops_last) drop_last(prepared);
  place(prepared, request);
  use_.imported_tokens += prepared.imported_tokens;
  use_.latest_tokens = prepared.imported_tokens;
  use_.repaired_tokens = prepared.repaired_tokens;
  use_.copied_bytes = prepared.copied_bytes;
  use_.unwritten = prepared.unwritten;
  use_.times = prepared.times;
  imports_->attach(request.id, std::move(prepared.runs));
  private_bytes_[request.id] = prepared.private_bytes;
  all_private_bytes_ += prepared.private_bytes;
  peak_private_bytes_ = std::max(peak_private_bytes_, all_private_bytes_);
}

void ModuleShaper::done(engine::RequestId id) {
  imports_->detach(id);
  const auto found = private_bytes_.find(id);
  if (found == private_bytes_.end()) return;  // it imported nothing
  all_private_bytes_ -= found->second;
  private_bytes_.erase(found);
}

int32_t ModuleShaper::drop_damaged() {
  int32_t dropped = 0;
  for (const Known& known : known_) dropped += known.states->drop_damaged();
  return dropped;
}

int64_t ModuleShaper::module_bytes() const {
  return store_->stats().host_bytes + store_->stats().disk_bytes;
}

std::vector<std::filesystem::path> ModuleShaper::files() const {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(*folder_))
    if (entry.path().extension() == ".segment") found.push_back(entry.path());
  return found;
}

void ModuleShaper::make_cold() const {
  if (options_.tier != "cold_disk" || folder_ == nullptr) return;
  for (const std::filesystem::path& file : files())
    if (const int64_t kept = drop_from_page_cache(file); kept > 0)
      raise(
          "{} keeps {} bytes in memory, so that reading it does not tell the disk's rate: set "
          "TMPDIR to a folder on a disk",
          file.string(), kept);
}

double ModuleShaper::disk_gb_s() const {
  if (options_.tier != "cold_disk" || folder_ == nullptr) return 0;
  make_cold();
  int64_t bytes = 0;
  const int64_t begin_ns = steady_now_ns();
  for (const std::filesystem::path& file : files()) bytes += read_through(file);
  return static_cast<double>(bytes) / static_cast<double>(steady_now_ns() - begin_ns);
}

}  // namespace reprise::prompt_cache
