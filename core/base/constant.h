// From a number known when the program runs to one known when it is compiled.
#pragma once

#include <type_traits>
#include <utility>

namespace reprise {

// Calls use(std::integral_constant<int, n>) for the one of `kFirst`, `kRest`... that `n` is, and
// with the last of them for any other n. One comparison each, in their order, which compilers make
// a jump table of where that is better.
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
