#!/usr/bin/env python3
"""No file outside a method's folder names the method.

Run as: method_names_test.py ROOT. Looks through the sources above and below the methods for the names that the build lists
(reprise_method(NAME ...)). A name of one word counts where a string is that name; a name with an underscore counts anywhere,
comments included. Not counted are includes, namespaces (prompt_cache::) and paths (prompt_cache/).
"""
import pathlib
import re
import sys

LOOKED_THROUGH = ["core", "app", "server", "checks", "workloads", "plots", "results", "baselines", "methods",
                  "experiments/framework", "experiments/kinds", "experiments/serving"]
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py"}
# Pairs of a name and the start of the paths that may have it.
ALLOWED = [
    # Defaults: constants with their reasons.
    ("contiguous", "methods/registry.h"),
    ("auto", "methods/registry.h"),
    ("paged", "methods/registry.h"),
    ("compute", "methods/registry.h"),
    # Words of matplotlib and of records.
    ("auto", "plots/"),
    ("maps", ""),
    # Prompt Cache's own command and experiments.
    ("prompt_cache", "app/pml_"),
    ("prompt_cache", "experiments/kinds/accuracy/"),
    ("prompt_cache", "experiments/kinds/latency/pml_"),
    ("prompt_cache", "experiments/kinds/latency/state_routes"),
    # The way to preempt sequences has the same name as a method.
    ("recompute", "core/engine/preemption."),
    ("recompute", "app/serve_options.h"),
    ("recompute", "experiments/kinds/serving/serving_axes."),
]


def names_in(root):
    lists = (root / "methods").glob("*/CMakeLists.txt")
    return sorted(name for path in lists for name in re.findall(r"^reprise_method\((\w+)", path.read_text(), re.MULTILINE))


def pattern_of(name):
    text = rf"\b{name}\b(?!::|/)" if "_" in name else f'"{name}"'
    return re.compile(text)


def found_in(text, path, patterns):
    """(line number, name) of each method that a file names and may not."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*#\s*include", line):
            continue
        for name, pattern in patterns.items():
            is_own = path.startswith(f"methods/{name}/")
            is_allowed = any(name == other and path.startswith(start) for other, start in ALLOWED)
            if not is_own and not is_allowed and pattern.search(line):
                yield number, name


def check_the_check():
    patterns = {name: pattern_of(name) for name in ("paged", "prompt_cache")}
    sample = '#include "methods/prompt_cache/a.h"\nprompt_cache::A a;\nf("paged");\n// a paged cache, prompt_cache\n'
    assert list(found_in(sample, "app/a.cpp", patterns)) == [(3, "paged"), (4, "prompt_cache")]
    assert not list(found_in('f("paged");', "methods/paged/method.cpp", patterns))


def main():
    check_the_check()
    root = pathlib.Path(sys.argv[1])
    names = names_in(root)
    assert len(names) > 10, names
    patterns = {name: pattern_of(name) for name in names}
    problems = []
    for folder in LOOKED_THROUGH:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix in SUFFIXES and not path.startswith("methods/layer_policies"):
                problems += [f"{path}:{number}: names the method {name}"
                             for number, name in found_in(file.read_text(errors="replace"), path, patterns)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
