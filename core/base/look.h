// The colour and marker with which figures draw a series.
#pragma once

#include <string>

namespace reprise {

// A series has the same look in every figure.
struct Look {
  std::string color;   // such as "#0072B2"; "": a colour that no other series of the figure has
  std::string marker;  // Matplotlib's name, such as "o"; "": a marker that no other series has
};

}  // namespace reprise
