// Finding a Python for what is done by its libraries.
#pragma once

#include <optional>
#include <string>

namespace reprise {

// A Python library that is needed.
struct PythonLibrary {
  std::string name;     // as it is imported: "matplotlib"
  std::string package;  // that brings it: "python3-matplotlib"
};

// The program that REPRISE_PYTHON names, where it is set, else the first of python3 on the PATH and
// /usr/bin/python3 that can import the library; nothing where neither can. Throws Error naming the
// variable, its value and the remedy where the program that it names is no Python, or one without
// the library: another would not be the one that was asked for.
std::optional<std::string> find_python(const PythonLibrary& library);

// The error of find_python() about REPRISE_PYTHON, if there is one.
void check_named_python(const PythonLibrary& library);

}  // namespace reprise
