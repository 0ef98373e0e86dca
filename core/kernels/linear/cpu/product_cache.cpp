#include <list>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/kernels/linear/cpu/product_onednn.h"

namespace reprise::kernels::cpu {

struct ProductCache::State {
  struct Hash {
    size_t operator()(const ProductShape& s) const {
      size_t h = 0;
      for (const int64_t value :
           {s.m, s.n, s.k,
            static_cast<int64_t>(s.dtype) * 64 + static_cast<int64_t>(s.out_dtype) * 4 +
                (s.has_bias ? 2 : 0) + (s.accumulate ? 1 : 0)})
        h = (h ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u;
      return h ^ (h >> 32);
    }
  };
  using Entries = std::list<std::pair<ProductShape, std::shared_ptr<const Product>>>;

  size_t capacity;
  Entries entries;  // most recently used first
  std::unordered_map<ProductShape, Entries::iterator, Hash> places;
};

ProductCache::ProductCache(size_t capacity) : state_(std::make_unique<State>()) {
  REPRISE_CHECK(capacity > 0);
  state_->capacity = capacity;
}
ProductCache::~ProductCache() = default;
size_t ProductCache::size() const { return state_->entries.size(); }
bool ProductCache::holds(const ProductShape& shape) const { return state_->places.contains(shape); }

std::shared_ptr<const Product> ProductCache::get(const ProductShape& shape) {
  State& s = *state_;
  if (const auto found = s.places.find(shape); found != s.places.end()) {
    s.entries.splice(s.entries.begin(), s.entries, found->second);
    return found->second->second;
  }
  std::shared_ptr<const Product> product =
      make_product(shape);  // may throw; nothing has changed then
  if (s.entries.size() == s.capacity) {
    s.places.erase(s.entries.back().first);
    s.entries.pop_back();
  }
  s.entries.emplace_front(shape, std::move(product));
  s.places.emplace(shape, s.entries.begin());
  return s.entries.front().second;
}

}  // namespace reprise::kernels::cpu
