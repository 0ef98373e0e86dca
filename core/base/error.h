// Errors that a user can act on, checks that catch bugs of this program, and a search for the known
// name nearest to a misspelt one.
#pragma once

#include <fmt/core.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// Thrown if something outside the program is wrong: a flag, a file, a shape, the machine. The text
// names the thing, the value found, the values accepted and the next step. `main` prints it as one
// paragraph.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown if two shapes, or a shape and a file, do not fit together.
class ShapeError : public Error {
 public:
  using Error::Error;
};

template <typename... Args>
[[noreturn]] void raise(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void raise_shape(fmt::format_string<Args...> format, Args&&... args) {
  throw ShapeError(fmt::format(format, std::forward<Args>(args)...));
}

// Returns the smallest number of edits that turn `a` into `b`. An edit inserts, deletes or replaces
// one byte or swaps two neighbours (optimal string alignment). Takes quadratic time, so it is meant
// for names.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate with the least edit distance to `name`, if that distance is at most 2 or at
// most a third of the length of `name`. Otherwise returns a candidate that begins with `name`, or
// "" if none does.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// A message such as `unknown key "arival_rps", did you mean "arrival_rps"? Known: ...`.
std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string> candidates);

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);
}  // namespace detail

}  // namespace reprise

// Prints the source location and aborts if the condition is false. Only a bug in this program can
// make it false.
#define REPRISE_CHECK(condition, ...)                                 \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::reprise::detail::check_failed(__FILE__, __LINE__, #condition, \
                                      ::fmt::format("" __VA_ARGS__)); \
  } while (false)

#ifdef NDEBUG
#define REPRISE_DCHECK(condition, ...) \
  do {                                 \
  } while (false)
#else
#define REPRISE_DCHECK(condition, ...) REPRISE_CHECK(condition, __VA_ARGS__)
#endif
