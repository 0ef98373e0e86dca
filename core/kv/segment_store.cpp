#include "core/kv/segment_store.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace reprise::kv {
namespace fs = std::filesystem;

namespace detail {

// A segment in memory of its own or in a mapped file. Whoever shares one may read it.
struct Resident {
  Resident(SegmentBuffer segment, std::shared_ptr<std::atomic<int64_t>> counter)
      : buffer(std::move(segment)), host_bytes(std::move(counter)) {
    *host_bytes += buffer->shape.bytes();
  }
  explicit Resident(SegmentFile opened) : file(std::move(opened)) {}
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  ~Resident() {
    if (buffer) *host_bytes -= buffer->shape.bytes();
  }

  std::optional<SegmentBuffer> buffer;
  std::optional<SegmentFile> file;
  std::shared_ptr<std::atomic<int64_t>> host_bytes;  // of all residents of the store
};

}  // namespace detail

using detail::Resident;

SegmentHandle::SegmentHandle(std::shared_ptr<const Resident> resident)
    : resident_(std::move(resident)) {}

CacheView SegmentHandle::view() const {
  return resident_->buffer ? resident_->buffer->view() : resident_->file->view();
}

const SegmentShape& SegmentHandle::shape() const {
  return resident_->buffer ? resident_->buffer->shape : resident_->file->header().shape;
}

const std::string& SegmentHandle::note() const {
  return resident_->buffer ? resident_->buffer->note : resident_->file->header().note;
}

Tier SegmentHandle::tier() const { return resident_->buffer ? Tier::kHost : Tier::kDisk; }

namespace {

constexpr const char* kExtension = ".segment";

struct Entry {
  std::shared_ptr<const Resident> host;  // null: not in the host tier
  std::weak_ptr<const Resident> mapped;  // of the disk tier, while somebody holds it
  int64_t file_bytes = 0;                // 0: not in the disk tier
  bool is_verified = false;              // its file, as far as the options ask
  uint64_t last_use = 0;
  uint64_t version = 0;  // another one with every put()

  [[nodiscard]] bool is_free() const {
    return (host == nullptr || host.use_count() == 1) && mapped.expired();
  }
};

}  // namespace

struct SegmentStore::State {
  explicit State(const SegmentStoreOptions& given) : options(given) {}

  const SegmentStoreOptions options;
  std::shared_ptr<std::atomic<int64_t>> host_bytes = std::make_shared<std::atomic<int64_t>>(0);
  std::vector<std::string> damaged;  // written by the constructor alone

  std::mutex puts;  // held by put() for all of its time; taken before `mutex`
  mutable std::mutex mutex;
  std::map<std::string, Entry> entries;  // guarded by mutex
  SegmentStoreStats stats;               // guarded by mutex; its host_bytes is not kept
  uint64_t clock = 0;                    // guarded by mutex

  std::condition_variable wake;          // of the prefetcher, and of who waits for it
  std::deque<std::string> wanted;        // guarded by mutex
  std::optional<std::string> under_way;  // guarded by mutex
  bool is_ending = false;                // guarded by mutex
  std::thread prefetcher;                // started with the first prefetch

  [[nodiscard]] bool has_disk() const { return !options.directory.empty(); }

  [[nodiscard]] fs::path path_of(const std::string& key) const {
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    return options.directory / fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, kExtension);
  }

  void open_directory() {
    std::error_code error;
    fs::create_directories(options.directory, error);
    if (error)
      raise("cannot make the segment store's folder {}: {}", options.directory.string(),
            error.message());
    std::vector<fs::path> files;
    for (const fs::directory_entry& file : fs::directory_iterator(options.directory, error))
      if (file.path().extension() == kExtension) files.push_back(file.path());
    if (error)
      raise("cannot read the segment store's folder {}: {}", options.directory.string(),
            error.message());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) adopt(file);
  }

  // A file that another process, or an earlier one, has written.
  void adopt(const fs::path& path) {
    try {
      const SegmentFile file(path, Verify::kHeader);
      const std::string& key = file.header().key;
      if (path_of(key) != path) raise("{} does not carry its segment's name", path.string());
      Entry& entry = entries[key];
      stats.disk_bytes += file.file_bytes() - entry.file_bytes;
      stats.disk_segments += entry.file_bytes == 0 ? 1 : 0;
      entry.file_bytes = file.file_bytes();
    } catch (const Error& error) {
      damaged.emplace_back(error.what());
    }
  }

  // The entry of a key, with what another process may have put; null if there is none.
  Entry* find(const std::string& key) {
    const auto found = entries.find(key);
    if (found != entries.end()) return &found->second;
    if (!has_disk() || !fs::exists(path_of(key))) return nullptr;
    const SegmentFile file(path_of(key), Verify::kHeader);
    if (file.header().key != key) return nullptr;
    Entry& entry = entries[key];
    entry.file_bytes = file.file_bytes();
    stats.disk_bytes += entry.file_bytes;
    ++stats.disk_segments;
    return &entry;
  }

  // The least recently used entry for which `may_go` holds, or null.
  template <typename MayGo>
  std::map<std::string, Entry>::iterator oldest(MayGo&& may_go) {
    auto found = entries.end();
    for (auto at = entries.begin(); at != entries.end(); ++at)
      if (may_go(at->first, at->second) &&
          (found == entries.end() || at->second.last_use < found->second.last_use))
        found = at;
    return found;
  }

  void drop_host(Entry& entry) {
    entry.host.reset();
    --stats.host_segments;
  }

  void drop_file(const std::string& key, Entry& entry) {
    fs::remove(path_of(key));
    stats.disk_bytes -= entry.file_bytes;
    --stats.disk_segments;
    entry.file_bytes = 0;
    entry.is_verified = false;
  }

  // Whether `bytes` more fit, after dropping what may be dropped. Drops nothing where that would
  // not do.
  bool make_host_room(int64_t bytes, const std::string& keep) {
    int64_t free_bytes = 0;
    for (const auto& [key, entry] : entries)
      if (entry.host && entry.host.use_count() == 1 && key != keep)
        free_bytes += entry.host->buffer->shape.bytes();
    if (*host_bytes - free_bytes + bytes > options.host_bytes) return false;
    while (*host_bytes + bytes > options.host_bytes) {
      const auto victim = oldest([&](const std::string& key, const Entry& entry) {
        return entry.host && entry.host.use_count() == 1 && key != keep;
      });
      if (victim == entries.end()) return false;  // somebody has acquired one meanwhile
      drop_host(victim->second);
      ++stats.host_evictions;
      if (victim->second.file_bytes == 0) entries.erase(victim);
    }
    return true;
  }

  bool make_disk_room(int64_t bytes, const std::string& keep) {
    if (options.disk_bytes == 0) return true;
    const auto may_go = [&](const std::string& key, const Entry& entry) {
      return entry.file_bytes > 0 && entry.is_free() && key != keep;
    };
    int64_t free_bytes = 0;
    for (const auto& [key, entry] : entries)
      if (may_go(key, entry)) free_bytes += entry.file_bytes;
    if (stats.disk_bytes - free_bytes + bytes > options.disk_bytes) return false;
    while (stats.disk_bytes + bytes > options.disk_bytes) {
      const auto victim = oldest(may_go);
      drop_file(victim->first, victim->second);
      ++stats.disk_evictions;
      if (!victim->second.host) entries.erase(victim);
    }
    return true;
  }

  // Writes the segment's file, in place of an older one, without the lock. False where the folder's
  // budget has no room for it.
  bool put_file(const std::string& key, const SegmentBuffer& segment) {
    const int64_t file_bytes = segment_file_bytes(key, segment);
    {
      const std::lock_guard lock(mutex);
      const auto found = entries.find(key);
      const int64_t old_bytes = found == entries.end() ? 0 : found->second.file_bytes;
      if (!make_disk_room(file_bytes - old_bytes, /*keep=*/key)) return false;
      stats.disk_bytes += file_bytes;  // taken before it is written: others may put meanwhile
    }
    try {
      write_segment(path_of(key), key, segment);
    } catch (...) {
      const std::lock_guard lock(mutex);
      stats.disk_bytes -= file_bytes;
      throw;
    }
    const std::lock_guard lock(mutex);
    Entry& entry = entries[key];
    stats.disk_bytes -= entry.file_bytes;
    stats.disk_segments += entry.file_bytes == 0 ? 1 : 0;
    entry.file_bytes = file_bytes;
    entry.mapped.reset();
    entry.is_verified = true;
    entry.version = ++clock;
    return true;
  }

  // The file of an entry without a host copy, open for reading in place. Reads it without the lock;
  // null where the entry has changed meanwhile, in which case the caller looks again.
  std::shared_ptr<const Resident> map_file(const std::string& key,
                                           std::unique_lock<std::mutex>& lock) {
    Entry& before = entries.at(key);
    if (auto open = before.mapped.lock()) return open;
    const Verify verify = before.is_verified ? Verify::kHeader : options.verify;
    const uint64_t version = before.version;
    lock.unlock();
    std::shared_ptr<const Resident> opened;
    std::exception_ptr fault;
    try {
      opened = std::make_shared<const Resident>(SegmentFile(path_of(key), verify));
    } catch (const Error&) {
      fault = std::current_exception();
    }
    lock.lock();
    const auto found = entries.find(key);
    if (found == entries.end() || found->second.version != version) return nullptr;
    Entry& entry = found->second;
    if (fault) {
      stats.disk_bytes -= entry.file_bytes;
      --stats.disk_segments;
      entries.erase(found);
      std::rethrow_exception(fault);
    }
    entry.is_verified = true;
    if (auto open = entry.mapped.lock()) return open;  // another thread was faster
    entry.mapped = opened;
    return opened;
  }

  // Brings one segment of the disk to the host. Copies without the lock.
  void promote(const std::string& key) {
    std::unique_lock lock(mutex);
    Entry* entry = find(key);
    if (entry == nullptr || entry->host || entry->file_bytes == 0) return;
    const std::shared_ptr<const Resident> mapped = map_file(key, lock);
    if (!mapped) return;
    lock.unlock();
    SegmentBuffer copy = mapped->file->read();
    lock.lock();
    const auto found = entries.find(key);
    // Replaced, erased or brought here by a put() meanwhile: what is there now is newer.
    if (found == entries.end() || found->second.host || found->second.mapped.lock() != mapped)
      return;
    if (!make_host_room(copy.shape.bytes(), key)) return;
    found->second.host = std::make_shared<const Resident>(std::move(copy), host_bytes);
    ++stats.host_segments;
    ++stats.prefetched;
  }

  void run_prefetcher() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return is_ending || !wanted.empty(); });
      if (is_ending) return;
      under_way = std::move(wanted.front());
      wanted.pop_front();
      const std::string key = *under_way;
      lock.unlock();
      try {
        promote(key);
      } catch (const std::exception&) {
        // acquire() meets the same fault and tells whoever asks for the segment.
      }
      lock.lock();
      under_way.reset();
      wake.notify_all();
    }
  }
};

SegmentStore::SegmentStore(const SegmentStoreOptions& options)
    : state_(std::make_unique<State>(options)) {
  if (options.host_bytes < 0 || options.disk_bytes < 0)
    raise("a segment store of {} bytes in memory and {} on disk: a budget is 0 or more",
          options.host_bytes, options.disk_bytes);
  if (options.host_bytes == 0 && options.directory.empty())
    raise("a segment store with neither memory nor a folder keeps nothing: give one of them");
  if (state_->has_disk()) state_->open_directory();
}

SegmentStore::~SegmentStore() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_ending = true;
  }
  state_->wake.notify_all();
  if (state_->prefetcher.joinable()) state_->prefetcher.join();
}

void SegmentStore::put(const std::string& key, SegmentBuffer segment) {
  State& s = *state_;
  validate(segment.shape);
  // One at a time, so that both tiers end with the same segment; acquire() goes on meanwhile.
  const std::lock_guard one_put(s.puts);
  const bool on_disk = s.has_disk() && s.put_file(key, segment);
  const std::lock_guard lock(s.mutex);
  Entry& entry = s.entries[key];
  if (!on_disk && entry.file_bytes > 0) s.drop_file(key, entry);  // it holds an older segment
  if (entry.host) s.drop_host(entry);
  entry.version = entry.last_use = ++s.clock;
  const int64_t bytes = segment.shape.bytes();
  if (s.make_host_room(bytes, key)) {
    entry.host = std::make_shared<const Resident>(std::move(segment), s.host_bytes);
    ++s.stats.host_segments;
  }
  if (entry.host || entry.file_bytes > 0) return;
  s.entries.erase(key);
  raise(
      "no room for a segment of {} bytes: others in use take {} of the store's {} bytes of "
      "memory{}. Give the store more memory, or a folder with more room.",
      bytes, s.host_bytes->load(), s.options.host_bytes,
      s.has_disk()
          ? fmt::format(" and {} of its folder's {}", s.stats.disk_bytes, s.options.disk_bytes)
          : "");
}

std::optional<SegmentHandle> SegmentStore::acquire(const std::string& key) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  while (Entry* entry = s.find(key)) {
    entry->last_use = ++s.clock;
    if (entry->host) {
      ++s.stats.host_hits;
      return SegmentHandle(entry->host);
    }
    if (std::shared_ptr<const Resident> mapped = s.map_file(key, lock)) {
      ++s.stats.disk_hits;
      return SegmentHandle(std::move(mapped));
    }
  }
  ++s.stats.misses;
  return std::nullopt;
}

void SegmentStore::prefetch(const std::string& key) {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    if (!s.has_disk() || s.options.host_bytes == 0) return;
    s.wanted.push_back(key);
    if (!s.prefetcher.joinable()) s.prefetcher = std::thread([&s] { s.run_prefetcher(); });
  }
  s.wake.notify_all();
}

void SegmentStore::wait_for_prefetches() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.wake.wait(lock, [&] { return s.wanted.empty() && !s.under_way; });
}

bool SegmentStore::erase(const std::string& key) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  Entry* entry = s.find(key);
  if (entry == nullptr) return false;
  if (entry->host) s.drop_host(*entry);
  if (entry->file_bytes > 0) s.drop_file(key, *entry);
  s.entries.erase(key);
  return true;
}

bool SegmentStore::contains(const std::string& key) {
  const std::lock_guard lock(state_->mutex);
  return state_->find(key) != nullptr;
}

std::vector<std::string> SegmentStore::keys() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> keys;
  for (const auto& [key, entry] : state_->entries) keys.push_back(key);
  return keys;
}

SegmentStoreStats SegmentStore::stats() const {
  const std::lock_guard lock(state_->mutex);
  SegmentStoreStats stats = state_->stats;
  stats.host_bytes = *state_->host_bytes;
  return stats;
}

const std::vector<std::string>& SegmentStore::damaged() const { return state_->damaged; }

}  // namespace reprise::kv
