#include "core/base/python.h"

#include <atomic>
#include <cstdlib>

#include "core/base/child_process.h"
#include "core/base/error.h"

namespace reprise {
namespace {

// True if `python` imports the library and computes a product. Exit status 0 is not enough, since a
// program that is not Python may exit with 0.
bool can_import(const std::string& python, const std::string& library) {
  try {
    return python_output(python, "import " + library + "; print(7 * 191)").starts_with("1337");
  } catch (const Error&) {
    return false;
  }
}

std::string named_python() {
  const char* named = std::getenv("REPRISE_PYTHON");
  return named == nullptr ? "" : named;
}

}  // namespace

std::string python_output(const std::string& python, const std::string& script,
                          const std::vector<std::string>& arguments) {
  // With -c, the first entry of sys.path is "", the working directory. The option that leaves it
  // out (-P) exists only since Python 3.11.
  const std::string prologue = "import sys; sys.path = [p for p in sys.path if p]\n";
  std::vector<std::string> command = {python, "-c", prologue + script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::atomic<bool> goes_on = false;
  return run_child(command, goes_on).out;
}

void check_named_python(const PythonLibrary& library) {
  const std::string python = named_python();
  if (python.empty()) return;
  const std::string remedy = fmt::format(
      "Set it to a Python that has {} (package {}), such as /usr/bin/python3, or unset it",
      library.name, library.package);
  std::string version;
  try {
    version = python_output(python, "import sys; print(7 * 191, sys.version)");
  } catch (const Error& error) {
    raise("REPRISE_PYTHON is \"{}\", which is no Python: {}. {}.", python, error.what(), remedy);
  }
  if (!version.starts_with("1337 "))
    raise(
        "REPRISE_PYTHON is \"{}\", which is no Python: asked for its version it printed \"{}\". "
        "{}.",
        python, version.substr(0, 80), remedy);
  if (!can_import(python, library.name))
    raise("REPRISE_PYTHON is \"{}\", a Python that cannot import {}. {}.", python, library.name,
          remedy);
}

std::optional<std::string> find_python(const PythonLibrary& library) {
  check_named_python(library);
  if (std::string named = named_python(); !named.empty()) return named;
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (can_import(python, library.name)) return python;
  return std::nullopt;
}

}  // namespace reprise
