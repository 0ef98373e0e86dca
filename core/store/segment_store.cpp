#include "core/store/segment_store.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/write_all.h"
#include "core/device/background_work.h"
#include "core/store/segment_books.h"

namespace reprise::kv {
namespace fs = std::filesystem;

using detail::Entry;
using detail::Keys;
using detail::Resident;
using detail::SegmentBooks;

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

void SegmentHandle::check_layer(int64_t layer) const {
  REPRISE_CHECK(layer >= 0 && layer < shape().layers, "layer {} of {}", layer, shape().layers);
  if (resident_->file) resident_->file->check_layer(layer);
}

void SegmentHandle::fetch_layer(int64_t layer) const {
  REPRISE_CHECK(layer >= 0 && layer < shape().layers, "layer {} of {}", layer, shape().layers);
  if (resident_->file) resident_->file->fetch_layer(layer);
}

namespace {

// Interval at which a file's last use is recorded.
constexpr auto kMarkEvery = std::chrono::minutes(1);

bool is_due(const Entry& entry) {
  return entry.file_bytes > 0 &&
         (!entry.marked || std::chrono::steady_clock::now() - *entry.marked >= kMarkEvery);
}

void refuse_options(const SegmentStoreOptions& options) {
  if (options.host_bytes < 0 || options.disk_bytes < 0)
    raise("a segment store of {} bytes in memory and {} on disk: a budget is 0 or more",
          options.host_bytes, options.disk_bytes);
  if (options.host_bytes == 0 && options.directory.empty())
    raise("a segment store with neither memory nor a folder keeps nothing: give one of them");
  if (options.form == SegmentForm::kInt8 && options.directory.empty())
    raise(
        "a segment store in memory alone holds states as kernels read them: the form \"int8\" "
        "takes a folder. Give one, or the form \"plain\".");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    raise("cannot make the segment store's folder {}: {}. {}", folder.string(), error.message(),
          write_remedy(error.value(), "Name a folder that you may write to."));
}

// The result of opening a segment's file: its mapping, or its states in memory.
struct Opened {
  std::optional<SegmentFile> file;
  std::optional<SegmentBuffer> states;  // for a form that is not read in place
  std::optional<FileStamp> verified;    // stamp of the file; set if the whole file was checked
  bool is_gone = false;                 // true: the file does not exist, or has another key
  std::exception_ptr fault = nullptr;
};

Opened open_segment(const fs::path& path, const SegmentKey& key, Verify verify,
                    const std::optional<FileStamp>& verified) {
  Opened opened;
  const std::optional<FileStamp> stamp = stamp_of(path);
  try {
    std::optional<SegmentFile> file = open_if_there(path);
    opened.is_gone = !file || file->header().key != key;
    if (opened.is_gone) return opened;
    const bool is_checked = stamp && stamp == verified;
    if (verify == Verify::kAll && !is_checked) file->check_all();
    if (verify == Verify::kAll && stamp && stamp == stamp_of(path) && is_settled(*stamp))
      opened.verified = stamp;
    if (file->header().form != SegmentForm::kPlain)
      opened.states = file->read();
    else
      opened.file.emplace(std::move(*file));
  } catch (const Error&) {
    opened.fault = std::current_exception();
  }
  return opened;
}

}  // namespace

struct SegmentStore::State {
  explicit State(const SegmentStoreOptions& given) : options(given), books(given) {}

  const SegmentStoreOptions options;
  std::vector<std::string> damaged;  // written by the constructor only

  std::mutex puts;  // held during a whole put(); must be locked before `mutex`
  mutable std::mutex mutex;
  SegmentBooks books;  // guarded by mutex

  std::condition_variable wake;                // wakes the prefetcher and threads that wait for it
  std::deque<std::vector<SegmentKey>> wanted;  // guarded by mutex
  bool is_under_way = false;                   // guarded by mutex
  bool is_ending = false;                      // guarded by mutex
  std::thread prefetcher;                      // started with the first prefetch

  // Makes a segment resident: it counts in host_bytes, and is locked for copies to the device.
  [[nodiscard]] std::shared_ptr<const Resident> resident_of(SegmentBuffer segment) const {
    return std::make_shared<const Resident>(std::move(segment), books.host_bytes, options.runtime);
  }

  // Writes the segment's file in place of an older one. Does not hold `mutex` during the write.
  // Returns false if the file does not fit into the folder's budget.
  bool put_file(const SegmentKey& key, const SegmentImage& image, const SegmentBuffer& segment,
                double cost_s) {
    const StoreLock one_writer(options.directory);
    const StoreListing listing = list_store(options.directory);
    remove_unfinished(listing);
    std::vector<SegmentKey> victims;
    {
      const std::lock_guard lock(mutex);
      books.synchronize(listing);
      const auto found = books.entries.find(key);
      const int64_t old_bytes = found == books.entries.end() ? 0 : found->second.file_bytes;
      auto chosen = books.disk_victims(image.bytes() - old_bytes, /*keep=*/key);
      if (!chosen) return false;
      victims = std::move(*chosen);
    }
    mark_store_format(options.directory);
    AtomicFile file(books.path_of(key));
    image.write(file);
    file.commit();
    // Victims are evicted after the write, so that a failed write evicts nothing.
    const std::lock_guard lock(mutex);
    Entry& entry = books.entries[key];
    entry.state_bytes = segment.shape.bytes();
    entry.cost_s = cost_s;
    entry.opened.reset();
    entry.verified.reset();
    entry.marked.reset();
    books.begin_version(entry);
    for (const SegmentKey& victim : victims) books.evict_file(victim);
    books.enter_file(entry, image.bytes());
    return true;
  }

  // Opens the file of an entry that is not in the host tier, and reads it without holding the lock.
  // Returns null if the entry was changed or erased meanwhile; the caller then looks again. If the
  // file is damaged, forgets it and throws Error.
  std::shared_ptr<const Resident> open_file(const SegmentKey& key, const Keys& keep,
                                            std::unique_lock<std::mutex>& lock) {
    Entry& before = books.entries.at(key);
    if (auto open = before.opened.lock()) return open;
    const uint64_t version = before.version;
    const std::optional<FileStamp> verified = before.verified;
    lock.unlock();
    Opened opened = open_segment(books.path_of(key), key, options.verify, verified);
    lock.lock();
    const auto found = books.entries.find(key);
    if (found == books.entries.end() || found->second.version != version) return nullptr;
    Entry& entry = found->second;
    if (entry.host) return entry.host;
    if (opened.is_gone || opened.fault) {
      books.forget_file(entry);
      books.erase_if_empty(key);
      if (opened.is_gone) return nullptr;
      std::rethrow_exception(opened.fault);
    }
    entry.verified = opened.verified;
    if (auto open = entry.opened.lock()) return open;  // another thread has opened it meanwhile
    std::shared_ptr<const Resident> resident;
    if (opened.states) {
      const bool has_room = books.make_host_room(opened.states->shape.bytes(), keep);
      resident = resident_of(std::move(*opened.states));
      if (has_room) {
        books.enter_host(entry, resident);
        return resident;
      }
    } else {
      resident = std::make_shared<const Resident>(std::move(*opened.file));
    }
    entry.opened = resident;
    return resident;
  }

  // Removes the key's entry with its states and file, or removes its damaged file. Returns true if
  // there was one. The caller must hold the lock.
  bool erase_known(const SegmentKey& key) {
    Entry* entry = nullptr;
    try {
      entry = books.find(key);
    } catch (const NewerFormatError&) {
      throw;
    } catch (const Error&) {
      std::error_code ignored;
      return fs::remove(books.path_of(key), ignored);
    }
    if (entry == nullptr) return false;
    if (entry->host) books.drop_host(*entry);
    if (entry->file_bytes > 0) books.drop_file(key, *entry);
    books.entries.erase(key);
    return true;
  }

  // Brings a segment from disk to the host tier. Copies the states without holding the lock.
  void promote(const SegmentKey& key, const Keys& keep) {
    std::unique_lock lock(mutex);
    const Entry* entry = books.find(key);
    if (entry == nullptr || entry->host || entry->file_bytes == 0) return;
    if (!books.can_make_host_room(entry->state_bytes, keep)) return;
    const std::shared_ptr<const Resident> opened = open_file(key, keep, lock);
    if (!opened) return;
    if (opened->file) {
      lock.unlock();
      SegmentBuffer copy = opened->file->read();
      lock.lock();
      const auto found = books.entries.find(key);
      // If a put() or erase() has come meanwhile, the entry is newer than this copy.
      if (found == books.entries.end() || found->second.host ||
          found->second.opened.lock() != opened)
        return;
      if (!books.make_host_room(copy.shape.bytes(), keep)) return;
      books.enter_host(found->second, resident_of(std::move(copy)));
    }
    const auto found = books.entries.find(key);
    if (found != books.entries.end() && found->second.host) ++books.stats.prefetched;
  }

  void run_prefetcher() {
    const BackgroundWork this_thread;
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return is_ending || !wanted.empty(); });
      if (is_ending) return;
      const std::vector<SegmentKey> request = std::move(wanted.front());
      wanted.pop_front();
      is_under_way = true;
      const Keys keep(request.begin(), request.end());
      for (const SegmentKey& key : request) {
        if (is_ending) return;
        lock.unlock();
        try {
          promote(key, keep);
        } catch (const std::exception&) {
          // acquire() will find the same fault and report it.
        }
        lock.lock();
      }
      is_under_way = false;
      wake.notify_all();
    }
  }
};

SegmentStore::SegmentStore(const SegmentStoreOptions& options) {
  refuse_options(options);
  state_ = std::make_unique<State>(options);
  if (!state_->books.has_disk()) return;
  make_folder(options.directory);
  const std::string fault = check_store_format(options.directory);
  state_->damaged = state_->books.synchronize(list_store(options.directory));
  if (!fault.empty()) state_->damaged.push_back(fault);
}

SegmentStore::~SegmentStore() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_ending = true;
  }
  state_->wake.notify_all();
  if (state_->prefetcher.joinable()) state_->prefetcher.join();
}

void SegmentStore::put(const SegmentKey& key, SegmentBuffer&& segment, double cost_s) {
  State& s = *state_;
  validate(segment.shape);
  if (!(cost_s >= 0) || !std::isfinite(cost_s))
    raise("a segment that took {} s to compute: give a time of 0 or more", cost_s);
  // Only one put() runs at a time, so that both tiers end with the same segment. acquire() may run
  // meanwhile.
  const std::lock_guard one_put(s.puts);
  bool on_disk = false;
  std::optional<SegmentImage> image;
  if (s.books.has_disk()) {
    image.emplace(key, segment, SegmentFileOptions{.form = s.options.form, .cost_s = cost_s});
    on_disk = s.put_file(key, *image, segment, cost_s);
  }
  const std::lock_guard lock(s.mutex);
  Entry& entry = s.books.entries[key];
  // If the new segment is not on disk, a file under its key holds an older segment.
  if (!on_disk && entry.file_bytes > 0) s.books.drop_file(key, entry);
  if (entry.host) s.books.drop_host(entry);
  s.books.begin_version(entry);
  entry.cost_s = cost_s;
  const int64_t bytes = segment.shape.bytes();
  if (s.books.make_host_room(bytes, {key})) {
    if (image) image->restore(segment);  // so that the host tier gives the same states as the file
    s.books.enter_host(entry, s.resident_of(std::move(segment)));
  }
  if (entry.host || entry.file_bytes > 0) return;
  s.books.entries.erase(key);
  raise(
      "no room for a segment of {} bytes: others in use take {} of the store's {} bytes of "
      "memory{}. Give the store more memory, or a folder with more room.",
      bytes, s.books.host_bytes->load(), s.options.host_bytes,
      s.books.has_disk() ? fmt::format(" and {} of its folder's {}", s.books.stats.disk_bytes,
                                       s.options.disk_bytes)
                         : "");
}

std::optional<SegmentHandle> SegmentStore::acquire(const SegmentKey& key) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  while (Entry* entry = s.books.find(key)) {
    if (is_due(*entry)) {
      entry->marked = std::chrono::steady_clock::now();
      mark_use(s.books.path_of(key));
    }
    if (entry->host) {
      s.books.count_use(*entry);
      ++s.books.stats.host_hits;
      return SegmentHandle(entry->host);
    }
    s.books.count_use(*entry);
    if (std::shared_ptr<const Resident> opened = s.open_file(key, {}, lock)) {
      ++s.books.stats.disk_hits;
      return SegmentHandle(std::move(opened));
    }
  }
  ++s.books.stats.misses;
  return std::nullopt;
}

void SegmentStore::prefetch(const SegmentKey& key) { prefetch_all({key}); }

void SegmentStore::prefetch_all(std::vector<SegmentKey> keys) {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    if (!s.books.has_disk() || s.options.host_bytes == 0 || keys.empty()) return;
    s.wanted.push_back(std::move(keys));
    try {
      if (!s.prefetcher.joinable()) s.prefetcher = std::thread([&s] { s.run_prefetcher(); });
    } catch (const std::system_error&) {
      s.wanted.clear();  // if no thread can be started, segments are read when they are acquired
    }
  }
  s.wake.notify_all();
}

void SegmentStore::wait_for_prefetches() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.wake.wait(lock, [&] { return s.wanted.empty() && !s.is_under_way; });
}

bool SegmentStore::erase(const SegmentKey& key) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  // A segment of the host tier may have a file that was damaged and then forgotten. The second call
  // removes what the first one leaves.
  const bool was_there = s.erase_known(key);
  return s.erase_known(key) || was_there;
}

bool SegmentStore::contains(const SegmentKey& key) {
  const std::lock_guard lock(state_->mutex);
  return state_->books.find(key) != nullptr;
}

std::vector<SegmentKey> SegmentStore::keys() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<SegmentKey> keys;
  for (const auto& [key, entry] : state_->books.entries) keys.push_back(key);
  return keys;
}

SegmentStoreStats SegmentStore::stats() const {
  const std::lock_guard lock(state_->mutex);
  SegmentStoreStats stats = state_->books.stats;
  stats.host_bytes = *state_->books.host_bytes;
  return stats;
}

const std::vector<std::string>& SegmentStore::damaged() const { return state_->damaged; }

}  // namespace reprise::kv
