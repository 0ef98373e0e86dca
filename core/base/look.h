// How figures draw a series.
#pragma once

#include <string>

namespace reprise {

// A series has one look in every figure.
struct Look {
  std::string color;   // "#0072B2"; "": one that is free
  std::string marker;  // Matplotlib's: "o"; "": one that is free
};

}  // namespace reprise
