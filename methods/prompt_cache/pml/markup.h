// Whether a text is well-formed XML of the kind PML accepts, before it is parsed.
#pragma once

#include "methods/prompt_cache/pml/source.h"

namespace reprise::pml {

// Reports what a lenient parser would let pass or repair in silence: bytes that are not UTF-8,
// control characters, a "<" that begins no tag, "&" without an entity of XML's own five or a
// character's number, DOCTYPE (so that no entity can be declared), processing instructions, tags
// that do not match or are not closed, text outside the root, a second root; and nesting and
// numbers of elements beyond the limits. What the reading survives is reported together; the first
// problem that it does not survive is the last one told.
void check_markup(const Source& source, const Limits& limits, Report& report);

}  // namespace reprise::pml
