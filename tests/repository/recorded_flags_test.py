#!/usr/bin/env python3
"""recorded_flags_test.py BUILD: tests that all measured code was compiled with the flags that records name
(REPRISE_FLAGS)."""
import json
import pathlib
import re
import shlex
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

# Targets whose code is never timed: they read files before a run, or write records and pages after it.
MAY_DIFFER = {"reprise_longbench", "reprise_questions", "reprise_sentence_sets", "reprise_results", "reprise_checks",
              "reprise_app_parts", "reprise_app_report", "reprise_commands"}
MEASURED = {"reprise_kernels", "reprise_engine", "reprise_methods", "reprise_kinds", "reprise_serving", "reprise_experiments",
            "reprise_server", "reprise_load", "reprise_pml", "reprise_prompt_cache", "reprise_request_sources",
            "reprise_app_timed"}


def recorded_flags():
    header = (BUILD / "generated/reprise_build.h").read_text(encoding="utf-8")
    return re.search(r'define REPRISE_FLAGS "(.*)"', header).group(1).split()


def targets():
    """Returns the flags of each C++ source of the tree's own libraries and program, by target."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        match = re.fullmatch(r"(?!tests/).*?CMakeFiles/(\w+)\.dir/.*", words[words.index("-o") + 1])
        if match and entry["file"].endswith((".cpp", ".cxx")):
            found.setdefault(match.group(1), []).append((entry["file"], words))
    return found


def optimization(flags):
    """Returns the last -O flag, which is the one that counts."""
    return ([flag for flag in flags if re.fullmatch(r"-O\w*", flag)] or [""])[-1]


class RecordedFlags(unittest.TestCase):
    def test_what_is_measured_has_the_flags_of_the_record(self):
        recorded, by_target = recorded_flags(), targets()
        self.assertLessEqual(MEASURED, set(by_target))
        for target, sources in by_target.items():
            if target in MAY_DIFFER:
                continue
            for source, flags in sources:
                self.assertEqual(optimization(flags), optimization(recorded), f"{target}: {source}")
                self.assertLessEqual(set(recorded), set(flags), f"{target}: {source}")


if __name__ == "__main__":
    unittest.main()
