#pragma once

namespace reprise::testing {

// Returns `count`, such as a number of random cases to try, or an eighth of it in a build with the
// address sanitizer, where the same work takes ten to twenty times as long.
constexpr int fewer_under_asan(int count) {
#ifdef __SANITIZE_ADDRESS__
  return count / 8;
#else
  return count;
#endif
}

}  // namespace reprise::testing
