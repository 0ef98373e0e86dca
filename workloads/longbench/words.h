// Chinese text cut into words by jieba, a Python library: LongBench's Chinese scores are defined by
// what it finds.
#pragma once

#include <string>
#include <vector>

namespace reprise::workloads::longbench {

// The Python that REPRISE_PYTHON names, where it is set, else the first of python3 on the PATH and
// /usr/bin/python3 that can import jieba. Throws Error with the package to install where none can.
std::string find_jieba_python();

// The words of each text, in order; a text's words together are the text. One Python for all of
// them: it takes a second to start. `python`: empty for find_jieba_python(). Throws Error naming
// the command where it fails.
std::vector<std::vector<std::string>> cut_words(const std::vector<std::string>& texts,
                                                const std::string& python = "");

}  // namespace reprise::workloads::longbench
