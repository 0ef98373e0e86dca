// Finds a Python interpreter that can import a library which the program needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace reprise {

// A Python library, and the package that installs it.
struct PythonLibrary {
  std::string name;     // name to import: "matplotlib"
  std::string package;  // Debian package that contains it: "python3-matplotlib"
};

// If REPRISE_PYTHON is set, returns the interpreter that it names; throws Error, with the remedy,
// if that interpreter cannot import the library. If REPRISE_PYTHON is not set, returns the first of
// `python3` on the PATH and /usr/bin/python3 that can import the library, or nullopt if neither
// can.
std::optional<std::string> find_python(const PythonLibrary& library);

// Returns the standard output of `script`, a Python program given as text, run by `python` with
// `arguments`. The script imports nothing from the working directory, because a file there may have
// a library's name. Throws Error as run_child() does.
std::string python_output(const std::string& python, const std::string& script,
                          const std::vector<std::string>& arguments = {});

// Throws Error as find_python() does if REPRISE_PYTHON is set but cannot be used.
void check_named_python(const PythonLibrary& library);

}  // namespace reprise
