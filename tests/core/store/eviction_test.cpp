#include "core/store/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/store/segment_store.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {
namespace {

constexpr uint64_t kSeed = 20240613;

TEST(Eviction, IsChosenByName) {
  for (const Eviction policy : {Eviction::kLru, Eviction::kLfu, Eviction::kCostAware})
    EXPECT_EQ(parse_eviction(name_of(policy)), policy);
  try {
    (void)parse_eviction("lrv");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"lru\""), std::string::npos);
  }
}

TEST(Eviction, LruGoesByTheLastUse) {
  EvictionOrder order(Eviction::kLru);
  EvictionRank a = order.entered(1, 100), b = order.entered(1000, 0);
  EXPECT_LT(a, b);
  order.used(a, 1, 100);
  EXPECT_LT(b, a);
}

TEST(Eviction, LfuGoesByTheNumberOfUses) {
  EvictionOrder order(Eviction::kLfu);
  EvictionRank a = order.entered(1, 0), b = order.entered(1, 0);
  for (int i = 0; i < 3; ++i) order.used(a, 1, 0);
  for (int i = 0; i < 2; ++i) order.used(b, 1, 0);
  EXPECT_LT(b, a);
}

// Segments that are expensive to compute outlive cheap ones until enough cheap ones have come and
// gone.
TEST(Eviction, CostAwareGoesByCostPerByteAndAges) {
  EvictionOrder order(Eviction::kCostAware);
  const EvictionRank dear = order.entered(1000, 10.5);  // 0.0105 s a byte
  int outlived = 0;
  while (true) {
    const EvictionRank cheap = order.entered(1000, 1);  // 0.001 s a byte above the floor
    if (dear < cheap) break;
    order.evicted(cheap);
    ++outlived;
    ASSERT_LT(outlived, 100);
  }
  EXPECT_EQ(outlived, 10);
  EXPECT_LT(order.entered(2000, 1), order.entered(1000, 1)) << "a byte counts, not a segment";
}

// ---- The store against a naive one. ----

// A store with the same eviction rules that searches all segments each time.
class NaiveStore {
 public:
  struct Segment {
    int key;
    int64_t bytes;
    double cost_s;
    int uses = 0;
    int64_t last_use = 0;
    double value = 0;  // GreedyDual-Size
    // has a second reference if somebody holds the segment
    std::shared_ptr<int> held = std::make_shared<int>(0);
  };

  NaiveStore(Eviction policy, int64_t budget, bool counts_held)
      : policy_(policy), budget_(budget), counts_held_(counts_held) {}

  // Returns false if there is no room.
  bool put(int key, int64_t bytes, double cost_s) {
    drop(key);
    if (bytes + bytes_that_stay() > budget_) return false;
    while (bytes + bytes_now() > budget_) {
      const auto victim =
          std::min_element(segments_.begin(), segments_.end(),
                           [&](const Segment& a, const Segment& b) { return goes_before(a, b); });
      floor_ = std::max(floor_, victim->value);
      segments_.erase(victim);
    }
    segments_.push_back({.key = key, .bytes = bytes, .cost_s = cost_s});
    touch(segments_.back(), /*is_new=*/true);
    return true;
  }
  // Returns null if the segment is not there. The store keeps the segment while somebody has the
  // reference.
  std::shared_ptr<int> acquire(int key) {
    for (Segment& segment : segments_)
      if (segment.key == key) {
        touch(segment, /*is_new=*/false);
        held_.push_back({segment.held, segment.bytes});
        return segment.held;
      }
    return nullptr;
  }
  void drop(int key) {
    std::erase_if(segments_, [&](const Segment& segment) { return segment.key == key; });
  }
  [[nodiscard]] std::vector<int> keys() const {
    std::vector<int> keys;
    for (const Segment& segment : segments_) keys.push_back(segment.key);
    std::sort(keys.begin(), keys.end());
    return keys;
  }

 private:
  struct Held {
    std::weak_ptr<int> reference;
    int64_t bytes;
  };

  void touch(Segment& segment, bool is_new) {
    segment.last_use = ++clock_;
    segment.uses += is_new ? 0 : 1;
    segment.value = floor_ + segment.cost_s / static_cast<double>(segment.bytes);
  }
  [[nodiscard]] static bool is_held(const Segment& segment) { return segment.held.use_count() > 1; }
  [[nodiscard]] bool goes_before(const Segment& a, const Segment& b) const {
    if (is_held(a) != is_held(b)) return !is_held(a);
    if (policy_ == Eviction::kLfu && a.uses != b.uses) return a.uses < b.uses;
    if (policy_ == Eviction::kCostAware && a.value != b.value) return a.value < b.value;
    return a.last_use < b.last_use;
  }
  // Bytes of segments that somebody holds although they are no longer in the store: they still take
  // memory.
  [[nodiscard]] int64_t bytes_of_ghosts() const {
    if (!counts_held_) return 0;
    int64_t bytes = 0;
    std::vector<const int*> seen;
    for (const Held& one : held_) {
      const auto reference = one.reference.lock();
      if (!reference || std::count(seen.begin(), seen.end(), reference.get()) > 0) continue;
      seen.push_back(reference.get());
      const bool is_here =
          std::any_of(segments_.begin(), segments_.end(),
                      [&](const Segment& segment) { return segment.held == reference; });
      if (!is_here) bytes += one.bytes;
    }
    return bytes;
  }
  [[nodiscard]] int64_t bytes_that_stay() const {
    int64_t bytes = bytes_of_ghosts();
    for (const Segment& segment : segments_)
      if (is_held(segment)) bytes += segment.bytes;
    return bytes;
  }
  [[nodiscard]] int64_t bytes_now() const {
    int64_t bytes = bytes_of_ghosts();
    for (const Segment& segment : segments_) bytes += segment.bytes;
    return bytes;
  }

  Eviction policy_;
  int64_t budget_;
  bool counts_held_;  // held segments take memory; files that were removed take none
  std::vector<Segment> segments_;
  std::vector<Held> held_;
  double floor_ = 0;
  int64_t clock_ = 0;
};

SegmentShape shape_of(int64_t tokens) {
  return {.layers = 1, .kv_heads = 1, .tokens = tokens, .head_dim = 256, .dtype = DType::kF32};
}

// Does the same random puts, acquires, releases and erasures with both stores, and compares the
// results.
void compare_with_naive(Eviction policy, SegmentStore& store, NaiveStore& naive, int operations,
                        int64_t (*bytes_of)(const SegmentKey&, const SegmentBuffer&)) {
  struct Handle {
    SegmentHandle real;
    std::shared_ptr<int> naive;
  };
  std::vector<Handle> handles;
  int hits = 0;
  for (int i = 0; i < operations; ++i) {
    const auto draw = [&](uint64_t what, uint64_t below) {
      return random_bits(kSeed + what, static_cast<uint64_t>(policy), static_cast<uint64_t>(i)) %
             below;
    };
    const int key = static_cast<int>(draw(0, 12));
    const std::string name = std::to_string(key);
    const uint64_t action = draw(1, 10);
    if (action < 4) {
      const SegmentBuffer segment(shape_of(1 + static_cast<int64_t>(draw(2, 12))));
      const double cost_s = static_cast<double>(draw(3, 1000)) / 100;
      const bool is_in = naive.put(key, bytes_of(name, segment), cost_s);
      try {
        SegmentBuffer copy(segment.shape);
        store.put(name, std::move(copy), cost_s);
        ASSERT_TRUE(is_in) << "operation " << i;
      } catch (const Error& error) {
        ASSERT_FALSE(is_in) << "operation " << i << ": " << error.what();
      }
    } else if (action < 8) {
      auto expected = naive.acquire(key);
      auto found = store.acquire(name);
      ASSERT_EQ(found.has_value(), expected != nullptr) << "operation " << i;
      hits += found ? 1 : 0;
      if (found && handles.size() < 3 && draw(4, 3) == 0)
        handles.push_back({std::move(*found), expected});
    } else if (action == 8) {
      if (!handles.empty()) handles.erase(handles.begin());
    } else {
      naive.drop(key);
      (void)store.erase(name);
    }
    std::vector<SegmentKey> expected;
    for (const int one : naive.keys()) expected.emplace_back(std::to_string(one));
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(store.keys(), expected) << name_of(policy) << ", operation " << i;
  }
  EXPECT_GT(hits, operations / 20);
}

class EvictionPolicies : public testing::TestWithParam<Eviction> {};

TEST_P(EvictionPolicies, InMemoryAreThoseOfANaiveStore) {
  SCOPED_TRACE(kSeed);
  constexpr int64_t kBudget = 50 * 2 * 256 * 4;
  SegmentStore store({.host_bytes = kBudget, .eviction = GetParam()});
  NaiveStore naive(GetParam(), kBudget, /*counts_held=*/true);
  compare_with_naive(
      GetParam(), store, naive, 4000,
      [](const SegmentKey&, const SegmentBuffer& segment) { return segment.shape.bytes(); });
  EXPECT_GT(store.stats().host_evictions, 100);
  EXPECT_LE(store.stats().host_bytes, kBudget);
}

TEST_P(EvictionPolicies, OnDiskAreThoseOfANaiveStore) {
  SCOPED_TRACE(kSeed);
  constexpr int64_t kBudget = 120'000;
  const model::TempDir folder;
  SegmentStore store({.directory = folder.path(), .disk_bytes = kBudget, .eviction = GetParam()});
  NaiveStore naive(GetParam(), kBudget, /*counts_held=*/false);
  compare_with_naive(GetParam(), store, naive, 400,
                     [](const SegmentKey& key, const SegmentBuffer& segment) {
                       return segment_file_bytes(key, segment);
                     });
  EXPECT_GT(store.stats().disk_evictions, 10);
  int64_t bytes = 0;
  for (const auto& file : files_of(folder.path()))
    bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  EXPECT_EQ(bytes, store.stats().disk_bytes);
  EXPECT_LE(bytes, kBudget);
}

INSTANTIATE_TEST_SUITE_P(All, EvictionPolicies,
                         testing::Values(Eviction::kLru, Eviction::kLfu, Eviction::kCostAware),
                         [](const auto& policy) { return std::string(name_of(policy.param)); });

}  // namespace
}  // namespace reprise::kv
