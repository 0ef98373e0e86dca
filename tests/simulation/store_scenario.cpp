// A segment store of two tiers, whose disk fails, whose files are damaged and whose process dies. A
// key must give the states that were put last, or nothing, or an error that names the file. A
// handle must keep the states that it was given for, limits must hold, and what a dead writer left
// must be removed.
#include <optional>

#include "core/store/store_directory.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/scenario.h"

namespace reprise::simulation {
namespace {

using kv::SegmentHandle;
using kv::SegmentShape;
using kv::SegmentStore;

// All segments have the same shape. A segment's number decides its states.
constexpr SegmentShape kShape = {
    .layers = 2, .kv_heads = 1, .tokens = 3, .head_dim = 4, .dtype = DType::kF32};

bool holds(const SegmentHandle& handle, uint64_t number) {
  const kv::SegmentBuffer expected = kv::segment_of(number, kShape);
  for (int64_t layer = 0; layer < kShape.layers; ++layer)
    if (!kv::equals_in_layer(handle.view(), expected, layer)) return false;
  return true;
}

class StoreRun {
 public:
  StoreRun(uint64_t seed, Canary canary, Counts& counts)
      : random_(seed), canary_(canary), counts_(counts), options_(drawn_options()) {
    disk_.emplace(random_.bits());
    open();
  }

  void run() {
    for (int i = 0; i < 120; ++i) act();
    drop_handles();
    restart();
    for (size_t key = 0; key < kKeys; ++key) acquire(key);
    check_files();
  }

 private:
  static constexpr size_t kKeys = 8;

  kv::SegmentStoreOptions drawn_options() {
    const kv::Eviction policies[] = {kv::Eviction::kLru, kv::Eviction::kLfu,
                                     kv::Eviction::kCostAware};
    const bool has_host = random_.one_in(2);
    return {.host_bytes = has_host ? random_.pick(1, 5) * kShape.bytes() : 0,
            .directory = folder_.path() / "store",
            .disk_bytes = random_.one_in(3) ? random_.pick(3, 6) * kFileBytes : 0,
            .verify = kv::Verify::kAll,
            .eviction = random_.of(std::span<const kv::Eviction>(policies))};
  }
  [[nodiscard]] std::filesystem::path file_of(size_t key) const {
    return options_.directory / kv::file_name_of(key_of(key));
  }
  static kv::SegmentKey key_of(size_t key) { return {"key " + std::to_string(key)}; }

  void open() { store_.emplace(options_); }
  // Ends the process, in order or killed, and opens the folder in another process.
  void restart() {
    ++counts_["restarts"];
    store_.reset();
    disk_.reset();
    disk_.emplace(random_.bits());
    open();
  }

  void act() {
    const auto key = static_cast<size_t>(random_.pick(0, kKeys - 1));
    switch (random_.pick(0, 15)) {
      case 0:
        return restart();
      case 1:
        return erase(key);
      case 2:
        return prefetch();
      case 3:
        return damage();
      case 4:
        return drop_handles();
      case 5:
      case 6:
      case 7:
        return put(key);
      case 8:
        return die_in_put(key);
      default:
        return acquire(key);
    }
  }

  void put(size_t key) {
    const uint64_t number = ++last_number_;
    disk_->arm(12);
    const bool is_put = tries_to_put(key, number);
    disk_->arm(0);
    if (is_put) {
      has_put(key, number);
      ++counts_["puts"];
    } else {
      ++counts_["puts that failed"];  // the store is as it was
    }
    if (canary_ == Canary::kOtherStates && last_number_ % 5 == 0)
      kv::write_segment(file_of(key), key_of(key), kv::segment_of(number + 1000, kShape));
    if (canary_ == Canary::kLostFile && last_number_ % 5 == 0)
      std::filesystem::remove(file_of(key));
    check_limits();
  }
  // Records a put that succeeded. A folder with a limit may have no room: then the key's damaged
  // file stays, and only memory has the new states.
  void has_put(size_t key, uint64_t number) {
    current_[key] = number;
    if (options_.disk_bytes == 0) is_damaged_[key] = false;
  }
  bool tries_to_put(size_t key, uint64_t number) {
    try {
      store_->put(key_of(key), kv::segment_of(number, kShape), 0.1 * random_.pick(1, 9));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  // The process dies while it writes. The next process must find the older segment or the new one.
  void die_in_put(size_t key) {
    const uint64_t number = ++last_number_;
    disk_->arm(4, /*cuts=*/true);
    const bool is_put = tries_to_put(key, number);
    disk_->arm(0);
    if (is_put) {
      has_put(key, number);
    }
    if (disk_->is_cut()) {
      ++counts_["deaths"];
      drop_handles();
      restart();
      counts_["unfinished files"] += std::ssize(kv::list_store(options_.directory).unfinished);
    }
  }

  void acquire(size_t key) {
    try {
      std::optional<SegmentHandle> handle = store_->acquire(key_of(key));
      if (!handle) {
        ++counts_["misses"];
        // Without a limit nothing is evicted from the folder.
        demand(!current_[key] || is_damaged_[key] || options_.disk_bytes > 0,
               "a segment that was put is gone");
        return;
      }
      ++counts_["hits"];
      demand(current_[key].has_value(), "a key gives states that was erased or never put");
      demand(holds(*handle, *current_[key]), "a key gives other states than those put last");
      if (random_.one_in(3)) handles_.push_back({std::move(*handle), *current_[key]});
    } catch (const Error& error) {
      demand(is_damaged_[key], "a sound segment is not read: {}", error.what());
      ++counts_["damage found"];
      is_damaged_[key] = false;
      current_[key].reset();
      (void)store_->erase(key_of(key));
    }
  }
  void erase(size_t key) {
    ++counts_["erasures"];
    (void)store_->erase(key_of(key));
    current_[key].reset();
    is_damaged_[key] = false;
  }
  void prefetch() {
    std::vector<kv::SegmentKey> wanted;
    for (size_t key = 0; key < kKeys; ++key)
      if (random_.one_in(3)) wanted.push_back(key_of(key));
    const int64_t before = store_->stats().prefetched;
    store_->prefetch_all(std::move(wanted));
    store_->wait_for_prefetches();
    counts_["prefetches"] += store_->stats().prefetched - before;
    check_limits();
  }
  void damage() {
    if (!std::filesystem::exists(options_.directory) ||
        !damage_a_file(options_.directory, ".segment", random_))
      return;
    ++counts_["damaged files"];
    is_damaged_.fill(true);  // any file may be the damaged one
  }
  void drop_handles() {
    for (const auto& [handle, number] : handles_)
      demand(holds(handle, number), "the states of a handle have changed");
    handles_.clear();
  }

  void check_limits() const {
    const kv::SegmentStoreStats stats = store_->stats();
    demand(stats.host_bytes <= options_.host_bytes,
           "{} bytes are in the host tier, at most {} may be", stats.host_bytes,
           options_.host_bytes);
    if (options_.disk_bytes == 0) return;
    int64_t bytes = 0;
    for (const kv::StoreFile& file : kv::list_store(options_.directory).segments)
      if (is_segment(file.path)) bytes += file.bytes;
    demand(bytes <= options_.disk_bytes, "{} bytes are on the disk, at most {} may be", bytes,
           options_.disk_bytes);
  }
  // A damaged file stays where it is and does not count as a segment.
  static bool is_segment(const std::filesystem::path& file) {
    try {
      return kv::open_if_there(file).has_value();
    } catch (const Error&) {
      return false;
    }
  }
  // After the last put of a process that did not die, no unfinished file is left.
  void check_files() {
    drop_handles();  // segments in use leave no room
    store_->put(key_of(0), kv::segment_of(1, kShape));
    demand(kv::list_store(options_.directory).unfinished.empty(),
           "a dead writer's unfinished file is still there");
  }

  static inline const int64_t kFileBytes = [] {
    const kv::SegmentBuffer segment = kv::segment_of(1, kShape);
    return kv::SegmentImage("key 0", segment, {}).bytes();
  }();

  Random random_;
  Canary canary_;
  Counts& counts_;
  model::TempDir folder_;
  kv::SegmentStoreOptions options_;
  std::optional<Disk> disk_;
  std::optional<SegmentStore> store_;
  uint64_t last_number_ = 0;
  std::array<std::optional<uint64_t>, kKeys> current_;  // empty: the key has no states
  std::array<bool, kKeys> is_damaged_ = {};             // true if the key's file may be damaged
  std::vector<std::pair<SegmentHandle, uint64_t>> handles_;
};

void run(uint64_t seed, Canary canary, Counts& counts) { StoreRun(seed, canary, counts).run(); }

}  // namespace

Scenario store_scenario() {
  return {.name = "store",
          .run = run,
          .expected = {"restarts", "puts", "puts that failed", "deaths", "unfinished files",
                       "misses", "hits", "damage found", "erasures", "prefetches", "damaged files"},
          .canaries = {Canary::kOtherStates, Canary::kLostFile}};
}

}  // namespace reprise::simulation
