// Checks, before parsing, that a text is well-formed XML of the kind that PML accepts.
//
// The check reports what a lenient parser would accept or repair in silence: bytes that are not
// UTF-8, control characters, a "<" that begins no tag, a "&" that begins neither a predefined
// entity nor a character reference, DOCTYPE (which could declare entities), processing
// instructions, tags that do not match or are not closed, text outside the root, a second root.
#pragma once

#include "methods/prompt_cache/pml/source.h"

namespace reprise::pml {

// Reports all problems up to the first one that makes the rest of the text unreadable. Also reports
// nesting and element counts beyond the limits.
void check_markup(const Source& source, const Limits& limits, Report& report);

// For texts of other authors: a "<" that begins no tag becomes "&lt;", and a note
// "FILE:LINE:COLUMN: sentence" is added. In later columns on that line, the "<" counts as these
// four characters.
Source with_strays_as_text(const Source& source, std::vector<std::string>& notes,
                           const Limits& limits = {});
// Source::read(), then with_strays_as_text().
Source read_leniently(const std::filesystem::path& path, std::vector<std::string>& notes,
                      const Limits& limits = {});
// Source::read(), or read_leniently() if `is_lenient`.
Source read_source(const std::filesystem::path& path, bool is_lenient,
                   std::vector<std::string>& notes);

}  // namespace reprise::pml
