// How figures draw a series.
#pragma once

#include <string>

namespace reprise {

// The same in every figure, whoever else is in it.
struct Look {
  std::string color;   // "#0072B2"; "": one that is free
  std::string marker;  // Matplotlib's: "o"; "": one that is free
};

}  // namespace reprise
