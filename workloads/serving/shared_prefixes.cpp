#include "workloads/serving/shared_prefixes.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace reprise::workloads::serving {
namespace {

// Compares requests by their prompts, in memory that it keeps.
class PromptOrder {
 public:
  PromptOrder(const AddParts& add_parts, const TokenStream& stream)
      : add_parts_(add_parts), stream_(stream) {}

  PromptComparison compare(uint32_t a, uint32_t b) {
    a_.clear();
    b_.clear();
    add_parts_(a, a_);
    add_parts_(b, b_);
    return compare_prompts(a_, b_, stream_);
  }

 private:
  const AddParts& add_parts_;
  TokenStream stream_;
  std::vector<PromptPart> a_, b_;
};

// In a sorted list neighbours have most in common, and what two have in common that are not
// neighbours is the least of what lies between. So the requests leave the list one by one, the last
// first: those that stand there still were before it, and its neighbours among them tell.
class SortedPrompts {
 public:
  SortedPrompts(std::vector<uint32_t> sorted, PromptOrder& order)
      : requests_(sorted.size()),
        place_(sorted.size()),
        before_(sorted.size() + 2),
        after_(sorted.size() + 2),
        common_(sorted.size() + 1, 0) {
    for (size_t i = 0; i < requests_; ++i) place_[sorted[i]] = static_cast<uint32_t>(i + 1);
    for (size_t i = 0; i + 1 < requests_; ++i)
      common_[i + 1] = static_cast<int32_t>(order.compare(sorted[i], sorted[i + 1]).common);
    for (size_t i = 0; i < before_.size(); ++i) {
      before_[i] = static_cast<uint32_t>(i - 1);  // that of 0 is never read
      after_[i] = static_cast<uint32_t>(i + 1);
    }
  }

  // What it has in common with a neighbour at most.
  int32_t remove(uint32_t request) {
    const uint32_t place = place_[request], left = before_[place], right = after_[place];
    const int32_t with_left = common_[left], with_right = common_[place];
    common_[left] = std::min(with_left, with_right);
    after_[left] = right;
    before_[right] = left;
    return std::max(with_left, with_right);
  }

 private:
  size_t requests_;
  // Places count from 1; 0 and requests + 1 are the list's ends.
  std::vector<uint32_t> place_, before_, after_;
  std::vector<int32_t> common_;  // of a place and the one after it; 0 at the ends
};

}  // namespace

std::vector<int32_t> leading_tokens_of_earlier(int64_t requests, const AddParts& add_parts,
                                               const TokenStream& stream) {
  REPRISE_CHECK(requests >= 0 && requests < INT32_MAX, "requests {}", requests);
  PromptOrder order(add_parts, stream);
  std::vector<uint32_t> sorted(static_cast<size_t>(requests));
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::sort(sorted.begin(), sorted.end(),
            [&](uint32_t a, uint32_t b) { return a != b && order.compare(a, b).is_before; });
  SortedPrompts list(std::move(sorted), order);
  std::vector<int32_t> shared(static_cast<size_t>(requests));
  for (size_t request = shared.size(); request-- > 0;)
    shared[request] = list.remove(static_cast<uint32_t>(request));
  return shared;
}

}  // namespace reprise::workloads::serving
