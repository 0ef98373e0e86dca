// Turns a number known at run time into a compile-time constant.
#pragma once

#include <type_traits>
#include <utility>

namespace reprise {

// Calls use(std::integral_constant<int, k>) with the k among `kFirst`, `kRest`... that equals n;
// any other n gets the last of them. Compares in their order; compilers make a jump table of it
// where that is faster.
template <int kFirst, int... kRest, typename Use>
[[gnu::always_inline]] inline void with_constant(int n, Use&& use) {
  if constexpr (sizeof...(kRest) == 0) {
    use(std::integral_constant<int, kFirst>{});
  } else {
    if (n == kFirst) return use(std::integral_constant<int, kFirst>{});
    with_constant<kRest...>(n, std::forward<Use>(use));
  }
}

}  // namespace reprise
