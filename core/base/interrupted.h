// The exception that ends work when its caller asks to stop.
#pragma once

namespace reprise {

// Thrown when the caller asked to stop. It is not an error.
struct Interrupted {};

}  // namespace reprise
