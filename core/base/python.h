// Finds a Python interpreter that has a library which the program needs.
#pragma once

#include <optional>
#include <string>

namespace reprise {

// A Python library, and the package that installs it.
struct PythonLibrary {
  std::string name;     // for import: "matplotlib"
  std::string package;  // Debian package that holds it: "python3-matplotlib"
};

// Returns the interpreter that REPRISE_PYTHON names, if it is set; else the first of `python3` on
// the PATH and /usr/bin/python3 that can import the library; nullopt if neither can. Throws Error,
// with the remedy, if REPRISE_PYTHON names a program that cannot import the library.
std::optional<std::string> find_python(const PythonLibrary& library);

// Throws Error as find_python() does if REPRISE_PYTHON is set but cannot be used.
void check_named_python(const PythonLibrary& library);

}  // namespace reprise
