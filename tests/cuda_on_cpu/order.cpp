#include "tests/cuda_on_cpu/order.h"

#include <charconv>
#include <cstdlib>
#include <random>
#include <string_view>

#include "core/base/error.h"

namespace cuda_on_cpu {
namespace {

WantedOrder order_of_environment() {
  const char* text = std::getenv("CUDA_ON_CPU_ORDER");
  const std::string_view wanted = text == nullptr ? "forward" : text;
  if (wanted == "forward") return {};
  if (wanted == "backward") return {.order = Order::kBackward};
  constexpr std::string_view kRandom = "random:";
  WantedOrder order{.order = Order::kRandom};
  const char* const end = wanted.data() + wanted.size();
  const bool is_random = wanted.starts_with(kRandom) &&
                         std::from_chars(wanted.data() + kRandom.size(), end, order.seed) ==
                             std::from_chars_result{end, std::errc()};
  REPRISE_CHECK(is_random,
                "CUDA_ON_CPU_ORDER is {}: it must be forward, backward or random:SEED, with a "
                "number for SEED",
                wanted);
  return order;
}

struct State {
  WantedOrder wanted;
  std::mt19937_64 random;

  explicit State(WantedOrder order) : wanted(order), random(order.seed) {}
};
State& state() {
  static State state(order_of_environment());
  return state;
}

}  // namespace

WantedOrder wanted_order() { return state().wanted; }

bool draws_work_beside() {
  return state().wanted.order == Order::kRandom && state().random() % 2 == 0;
}

void set_order(Order wanted, uint64_t seed) { state() = State({wanted, seed}); }

}  // namespace cuda_on_cpu
