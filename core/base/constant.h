// Turns a number known at run time into a compile-time constant.
#pragma once

#include <type_traits>
#include <utility>

namespace reprise {

// Calls use(std::integral_constant<int, k>{}). k is n if n is one of `kFirst`, `kRest`...;
// otherwise k is the last of these. Compares n with each in turn; compilers turn this into a jump
// table if that is faster.
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
