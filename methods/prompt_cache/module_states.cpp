#include "methods/prompt_cache/module_states.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/steady_now.h"

namespace reprise::prompt_cache {
namespace {

// A sequence of numbers, lists and texts to be hashed. Each list and text begins with its length,
// so that different sequences have different bytes.
class Facts {
 public:
  void add(int64_t number) { numbers_.push_back(number); }
  void add(const std::vector<int32_t>& list) {
    add(std::ssize(list));
    numbers_.insert(numbers_.end(), list.begin(), list.end());
  }
  void add(const std::string& text) {
    add(std::ssize(text));
    numbers_.insert(numbers_.end(), text.begin(), text.end());
  }
  // The hash as 32 hexadecimal digits.
  [[nodiscard]] std::string hash() const {
    const XXH128_hash_t hash = XXH3_128bits(numbers_.data(), numbers_.size() * sizeof(numbers_[0]));
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::vector<int64_t> numbers_;
};

// The hash of everything that the states of a schema's units depend on besides model and tokenizer:
// the mode, each unit's name, tokens and positions, and the tokens that are computed with it.
std::string hash_of(const pml::CompiledSchema& schema, const Encoding& encoding, Mode mode) {
  Facts facts;
  facts.add(static_cast<int64_t>(mode));
  facts.add(std::ssize(schema.pieces));
  for (const pml::Piece& piece : schema.pieces) {
    facts.add(piece.first);
    facts.add(piece.tokens);
  }
  for (const EncodingPass& pass : encoding.passes) {
    facts.add(pass.pieces);
    facts.add(std::ssize(pass.units));
    for (const int32_t index : pass.units) {
      const StateUnit& unit = encoding.units[static_cast<size_t>(index)];
      facts.add(unit.name);
      facts.add(unit.pieces);
    }
  }
  return facts.hash();
}

// Returns the note that is stored beside a unit's states and compared when the states are found
// again.
std::string note_of(const pml::CompiledSchema& schema, const StateUnit& unit) {
  const PlacedTokens placed = placed_tokens(schema, unit.pieces);
  Facts facts;
  facts.add(placed.tokens);
  facts.add(placed.positions);
  return fmt::format("{} tokens at positions {}", placed.tokens.size(), facts.hash());
}

}  // namespace

EncodeReport& EncodeReport::operator+=(const EncodeReport& more) {
  passes += more.passes;
  units += more.units;
  tokens += more.tokens;
  compute_s += more.compute_s;
  if (unwritten.empty()) unwritten = more.unwritten;
  return *this;
}

ModuleStates::ModuleStates(model::Decoder& decoder, kv::SegmentStore& store,
                           const pml::CompiledSchema& schema, Mode mode,
                           const kv::StoreIdentity& whose, const EncodeOptions& options)
    : decoder_(decoder),
      store_(store),
      schema_(schema),
      mode_(mode),
      encoding_(encoding_of(schema, mode)),
      identity_(whose),
      options_(options) {
  identity_.schema = hash_of(schema, encoding_, mode);
  identity_.dtype =
      fmt::format("{}{}, keys and values {}", name_of(decoder.dtype()),
                  is_quantized(decoder.weight_format())
                      ? fmt::format(" with weights in {}", name_of(decoder.weight_format()))
                      : "",
                  name_of(options.kv_dtype));
  for (const StateUnit& unit : encoding_.units) notes_.push_back(note_of(schema, unit));
  pass_of_unit_.resize(encoding_.units.size());
  in_use_.resize(encoding_.units.size());
  is_ignored_.resize(encoding_.units.size());
  for (size_t pass = 0; pass < encoding_.passes.size(); ++pass)
    for (const int32_t unit : encoding_.passes[pass].units)
      pass_of_unit_[static_cast<size_t>(unit)] = static_cast<int32_t>(pass);
}

kv::SegmentKey ModuleStates::key_of(int32_t unit) const {
  return {identity_, encoding_.units[static_cast<size_t>(unit)].name};
}

EncodeReport ModuleStates::encode() {
  EncodeReport report;
  for (size_t pass = 0; pass < encoding_.passes.size(); ++pass) {
    const auto& units = encoding_.passes[pass].units;
    if (!std::all_of(units.begin(), units.end(), [&](int32_t unit) { return is_there(unit); }))
      compute(static_cast<int32_t>(pass), report);
  }
  options_.between = nullptr;
  return report;
}

bool ModuleStates::is_there(int32_t unit) {
  if (in_memory_ && in_memory_->contains(key_of(unit))) return true;
  if (is_ignored_[static_cast<size_t>(unit)]) return false;
  try {
    return store_.contains(key_of(unit));
  } catch (const Error&) {  // damaged: computed again
    erase(unit);
    return false;
  }
}

void ModuleStates::erase(int32_t unit) {
  try {
    store_.erase(key_of(unit));
  } catch (const kv::NewerFormatError&) {
    throw;
  } catch (const Error&) {
    if (!options_.keeps_unwritten) throw;
    is_ignored_[static_cast<size_t>(unit)] = true;
  }
}

void ModuleStates::compute(int32_t pass, EncodeReport& report) {
  const EncodingPass& of = encoding_.passes[static_cast<size_t>(pass)];
  const int64_t begin_ns = steady_now_ns();
  std::vector<kv::SegmentBuffer> segments =
      compute_pass(decoder_, schema_, encoding_, of, options_);
  const double seconds = seconds_since(begin_ns);
  int64_t tokens = 0;
  for (const int32_t piece : of.pieces)
    tokens += static_cast<int64_t>(schema_.pieces[static_cast<size_t>(piece)].tokens.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    segments[i].note = notes_[static_cast<size_t>(of.units[i])];
    const auto share = static_cast<double>(segments[i].shape.tokens) / static_cast<double>(tokens);
    keep(of.units[i], std::move(segments[i]), seconds * share, report);
  }
  ++report.passes;
  report.units += static_cast<int32_t>(of.units.size());
  report.tokens += tokens;
  report.compute_s += seconds;
}

void ModuleStates::keep(int32_t unit, kv::SegmentBuffer segment, double cost_s,
                        EncodeReport& report) {
  if (!in_memory_) {
    try {
      store_.put(key_of(unit), std::move(segment), cost_s);
      is_ignored_[static_cast<size_t>(unit)] = false;
      return;
    } catch (const Error& error) {
      if (!options_.keeps_unwritten) throw;
      report.unwritten = error.what();
    }
    in_memory_ = std::make_unique<kv::SegmentStore>(kv::SegmentStoreOptions{
        .host_bytes = state_bytes(encoding_, decoder_.config(), options_.kv_dtype),
        .runtime = decoder_.runtime()});
  }
  in_memory_->put(key_of(unit), std::move(segment), cost_s);  // NOLINT(bugprone-use-after-move)
}

int32_t ModuleStates::drop_damaged() {
  int32_t dropped = 0;
  for (int32_t unit = 0; unit < std::ssize(encoding_.units); ++unit) {
    if (is_ignored_[static_cast<size_t>(unit)]) continue;
    try {
      const std::optional<kv::SegmentHandle> handle = store_.acquire(key_of(unit));
      for (int64_t layer = 0; handle && layer < handle->shape().layers; ++layer)
        handle->check_layer(layer);
    } catch (const Error&) {
      erase(unit);
      in_use_[static_cast<size_t>(unit)].reset();
      std::erase_if(on_device_, [&](const auto& kept) { return kept.first == unit; });
      ++dropped;
    }
  }
  return dropped;
}

std::shared_ptr<const SharedStates> ModuleStates::find(int32_t unit) {
  std::weak_ptr<const SharedStates>& in_use = in_use_[static_cast<size_t>(unit)];
  std::shared_ptr<const SharedStates> states = in_use.lock();
  if (!states) {
    std::optional<kv::SegmentHandle> handle;
    try {
      if (in_memory_) handle = in_memory_->acquire(key_of(unit));
      if (!handle && !is_ignored_[static_cast<size_t>(unit)]) handle = store_.acquire(key_of(unit));
    } catch (const Error&) {  // damaged: computed again
      erase(unit);
    }
    if (!handle) return nullptr;
    if (!is_of(unit, *handle)) {
      handle.reset();
      erase(unit);
      return nullptr;
    }
    states = states_of(std::move(*handle));
    in_use = states;
  }
  keep_on_device(unit, states);
  return states;
}

bool ModuleStates::is_of(int32_t index, const kv::SegmentHandle& handle) const {
  const StateUnit& unit = encoding_.units[static_cast<size_t>(index)];
  return handle.shape() == state_shape(decoder_.config(), unit.tokens, options_.kv_dtype) &&
         handle.note() == notes_[static_cast<size_t>(index)];
}

std::shared_ptr<const SharedStates> ModuleStates::states_of(kv::SegmentHandle handle) const {
  auto held = std::make_shared<const kv::SegmentHandle>(std::move(handle));
  const kv::SegmentHandle* unchecked = held->tier() == kv::Tier::kDisk ? held.get() : nullptr;
  if (decoder_.runtime() == nullptr) {
    const kv::CacheView view = held->view();
    return std::make_shared<const SharedStates>(
        SharedStates{.view = view, .owner = std::move(held), .unchecked = unchecked});
  }
  struct Arriving {
    Arriving(const std::shared_ptr<DeviceRuntime>& runtime,
             const std::shared_ptr<const kv::SegmentHandle>& from, bool is_read_ahead)
        : file(is_read_ahead ? from : nullptr), segment(runtime, from) {}
    std::shared_ptr<const kv::SegmentHandle> file;
    kv::DeviceSegment segment;
  };
  const auto owner =
      std::make_shared<Arriving>(decoder_.runtime(), held, /*is_read_ahead=*/unchecked != nullptr);
  return std::make_shared<const SharedStates>(SharedStates{.view = owner->segment.view(),
                                                           .owner = owner,
                                                           .unchecked = unchecked,
                                                           .arriving = &owner->segment});
}

void ModuleStates::keep_on_device(int32_t unit, const std::shared_ptr<const SharedStates>& states) {
  if (states->arriving == nullptr || options_.device_bytes == 0) return;
  std::erase_if(on_device_, [&](const auto& kept) { return kept.first == unit; });
  const auto bytes_of = [](const SharedStates& one) { return one.arriving->shape().bytes(); };
  int64_t bytes = bytes_of(*states);
  if (bytes > options_.device_bytes) return;
  for (const auto& [of, kept] : on_device_) bytes += bytes_of(*kept);
  while (bytes > options_.device_bytes) {
    bytes -= bytes_of(*on_device_.front().second);
    on_device_.erase(on_device_.begin());
  }
  on_device_.emplace_back(unit, states);
}

std::vector<StateRun> ModuleStates::import(const pml::CompiledPrompt& prompt,
                                           EncodeReport* computed) {
  EncodeReport report;
  std::vector<StateRun> runs;
  std::map<int32_t, std::shared_ptr<const SharedStates>> units;
  for (const ImportedRun& run : imported_runs(schema_, encoding_, prompt)) {
    std::shared_ptr<const SharedStates>& states = units[run.unit];
    if (!states) states = find(run.unit);
    if (!states) {
      compute(pass_of_unit_[static_cast<size_t>(run.unit)], report);
      states = find(run.unit);
      if (!states)
        raise(
            "the states of {} ({} tokens) were given up before they could be used: give the store "
            "a "
            "larger budget",
            encoding_.units[static_cast<size_t>(run.unit)].name, run.tokens);
    }
    runs.push_back({.states = states,
                    .first = run.first,
                    .tokens = run.tokens,
                    .first_position = run.first_position});
  }
  if (computed != nullptr) *computed = report;
  return runs;
}

}  // namespace reprise::prompt_cache
