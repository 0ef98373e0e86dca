// Cuts Chinese text into words with jieba, a Python library. LongBench's Chinese scores count these
// words.
#pragma once

#include <string>
#include <vector>

namespace reprise::workloads::longbench {

// Returns the Python that REPRISE_PYTHON names, else the first of python3 on the PATH and
// /usr/bin/python3 that can import jieba. Throws Error with the package to install if none can.
std::string find_jieba_python();

// Returns the words of each text in order; concatenated they are the text. One Python process
// handles all texts, since Python takes a second to start. An empty `python` means
// find_jieba_python(). Throws Error naming the Python command if it fails.
std::vector<std::vector<std::string>> cut_words(const std::vector<std::string>& texts,
                                                const std::string& python = "");

}  // namespace reprise::workloads::longbench
