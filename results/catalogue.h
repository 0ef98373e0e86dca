// The data sets and checkpoints that `reprise data get` fetches: names and places from
// data/catalogue.json. data/catalogue.py describes the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprise::results {

struct CatalogueEntry {
  std::string name;         // argument of `reprise data get`
  std::string path;         // as experiments name it; relative to a data folder
  std::string shape;        // shipped shape of the same size; "" if there is none
  int64_t parameters = 0;   // number of parameters of a checkpoint with a shape
  std::string alternative;  // another command that fetches the same data; "" if there is none
};

std::vector<CatalogueEntry> catalogue();

// The entry that contains the file or folder `name`, as an experiment names it. A model in the data
// folder's models/ is also found by its name without "models/".
std::optional<CatalogueEntry> catalogue_entry(const std::string& name);

// "Fetch it: reprise data get NAME", for an error about something that is not there; "" if the
// catalogue does not know `name`.
std::string how_to_fetch(const std::string& name);

}  // namespace reprise::results
