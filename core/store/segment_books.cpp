#include "core/store/segment_books.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reprise::kv::detail {
namespace fs = std::filesystem;

Resident::Resident(SegmentBuffer segment, std::shared_ptr<std::atomic<int64_t>> counter,
                   const std::shared_ptr<DeviceRuntime>& runtime)
    : buffer(std::move(segment)),
      keys_lock(runtime, buffer->keys.data(), buffer->keys.bytes()),
      values_lock(runtime, buffer->values.data(), buffer->values.bytes()),
      host_bytes(std::move(counter)) {
  *host_bytes += buffer->shape.bytes();
}

Resident::Resident(SegmentFile opened) : file(std::move(opened)) {}

Resident::~Resident() {
  if (buffer) *host_bytes -= buffer->shape.bytes();
}

SegmentBooks::SegmentBooks(const SegmentStoreOptions& options)
    : options_(options), host_order_(options.eviction), disk_order_(options.eviction) {}

Entry* SegmentBooks::find(const SegmentKey& key) {
  const auto found = entries.find(key);
  if (found != entries.end()) return &found->second;
  if (!has_disk()) return nullptr;
  const std::optional<SegmentFile> file = open_if_there(path_of(key));
  return file && file->header().key == key ? &adopt(*file) : nullptr;
}

void SegmentBooks::count_use(Entry& entry) {
  if (entry.host) host_order_.used(entry.host_rank, entry.state_bytes, entry.cost_s);
  if (entry.file_bytes > 0) disk_order_.used(entry.disk_rank, entry.file_bytes, entry.cost_s);
}

void SegmentBooks::erase_if_empty(const SegmentKey& key) {
  const auto found = entries.find(key);
  if (found != entries.end() && !found->second.host && found->second.file_bytes == 0)
    entries.erase(found);
}

template <typename MayGo>
std::map<SegmentKey, Entry>::iterator SegmentBooks::first_to_go(EvictionRank Entry::*rank,
                                                                MayGo&& may_go) {
  auto first = entries.end();
  for (auto at = entries.begin(); at != entries.end(); ++at)
    if (may_go(at->first, at->second) &&
        (first == entries.end() || at->second.*rank < first->second.*rank))
      first = at;
  return first;
}

bool SegmentBooks::can_make_host_room(int64_t bytes, const Keys& keep) const {
  int64_t free_bytes = 0;
  for (const auto& [key, entry] : entries)
    if (entry.host && entry.host.use_count() == 1 && !keep.contains(key))
      free_bytes += entry.host->buffer->shape.bytes();
  return *host_bytes - free_bytes + bytes <= options_.host_bytes;
}

bool SegmentBooks::make_host_room(int64_t bytes, const Keys& keep) {
  if (!can_make_host_room(bytes, keep)) return false;
  while (*host_bytes + bytes > options_.host_bytes) {
    const auto victim = first_to_go(&Entry::host_rank, [&](const SegmentKey& key, const Entry& e) {
      return e.host && e.host.use_count() == 1 && !keep.contains(key);
    });
    if (victim == entries.end()) return false;
    host_order_.evicted(victim->second.host_rank);
    drop_host(victim->second);
    ++stats.host_evictions;
    if (victim->second.file_bytes == 0) entries.erase(victim);
  }
  return true;
}

void SegmentBooks::enter_host(Entry& entry, std::shared_ptr<const Resident> resident) {
  entry.state_bytes = resident->buffer->shape.bytes();
  entry.host = std::move(resident);
  entry.host_rank = host_order_.entered(entry.state_bytes, entry.cost_s);
  ++stats.host_segments;
}

void SegmentBooks::drop_host(Entry& entry) {
  entry.host.reset();
  --stats.host_segments;
}

std::optional<std::vector<SegmentKey>> SegmentBooks::disk_victims(int64_t bytes,
                                                                  const SegmentKey& keep) const {
  if (options_.disk_bytes == 0) return std::vector<SegmentKey>();
  std::vector<std::pair<EvictionRank, const SegmentKey*>> may_go;
  for (const auto& [key, entry] : entries)
    if (entry.file_bytes > 0 && entry.is_free() && key != keep)
      may_go.emplace_back(entry.disk_rank, &key);
  std::sort(may_go.begin(), may_go.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<SegmentKey> victims;
  int64_t excess = stats.disk_bytes + bytes - options_.disk_bytes;
  for (size_t i = 0; i < may_go.size() && excess > 0; ++i) {
    victims.push_back(*may_go[i].second);
    excess -= entries.at(*may_go[i].second).file_bytes;
  }
  if (excess > 0) return std::nullopt;
  return victims;
}

void SegmentBooks::evict_file(const SegmentKey& key) {
  const auto found = entries.find(key);
  // Nothing to evict: the entry or its file has been removed meanwhile.
  if (found == entries.end() || found->second.file_bytes == 0) return;
  disk_order_.evicted(found->second.disk_rank);
  drop_file(key, found->second);
  ++stats.disk_evictions;
  erase_if_empty(key);
}

void SegmentBooks::enter_file(Entry& entry, int64_t file_bytes) {
  stats.disk_bytes += file_bytes - entry.file_bytes;
  stats.disk_segments += entry.file_bytes == 0 ? 1 : 0;
  entry.file_bytes = file_bytes;
  entry.disk_rank = disk_order_.entered(file_bytes, entry.cost_s);
}

void SegmentBooks::forget_file(Entry& entry) {
  stats.disk_bytes -= entry.file_bytes;
  --stats.disk_segments;
  entry.file_bytes = 0;
  entry.verified.reset();
  entry.opened.reset();
}

void SegmentBooks::drop_file(const SegmentKey& key, Entry& entry) {
  std::error_code error;
  fs::remove(path_of(key), error);
  if (error) raise("cannot remove {}: {}", path_of(key).string(), error.message());
  forget_file(entry);
}

Entry& SegmentBooks::adopt(const SegmentFile& file) {
  const SegmentFileHeader& header = file.header();
  Entry& entry = entries[header.key];
  begin_version(entry);
  if (entry.host) drop_host(entry);  // the states in memory are those of an older file
  entry.opened.reset();
  entry.verified.reset();
  entry.state_bytes = header.shape.bytes();
  entry.cost_s = header.cost_s;
  enter_file(entry, file.file_bytes());
  return entry;
}

std::vector<std::string> SegmentBooks::synchronize(const StoreListing& listing) {
  std::map<std::string, SegmentKey> known;
  for (const auto& [key, entry] : entries)
    if (entry.file_bytes > 0) known.emplace(file_name_of(key), key);
  std::vector<std::string> faults;
  for (const StoreFile& found : listing.segments) {
    const auto old = known.find(found.path.filename().string());
    if (old != known.end() && entries.at(old->second).file_bytes == found.bytes) {
      known.erase(old);
      continue;
    }
    try {
      const std::optional<SegmentFile> file = open_if_there(found.path);
      if (!file) continue;
      require_name_of(file->header().key, found.path);
      adopt(*file);
      if (old != known.end()) known.erase(old);  // another process has replaced it
    } catch (const Error& error) {
      faults.emplace_back(error.what());
    }
  }
  for (const auto& [name, key] : known) {
    forget_file(entries.at(key));
    erase_if_empty(key);
  }
  return faults;
}

}  // namespace reprise::kv::detail
