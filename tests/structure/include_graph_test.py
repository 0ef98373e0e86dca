#!/usr/bin/env python3
"""No #include runs upward between folders, and folders form no cycle.

Run as: include_graph_test.py ROOT. Each folder names the folders it may include; what is not listed is refused, so a
new folder has to find its place here. Includes below a folder's own name are its own affair, except that methods and
workloads are islands: none includes another.
"""
import pathlib
import re
import sys

# What each folder may include beside itself. Transitive on purpose: a direct list, so that an arrow is a decision.
MAY_INCLUDE = {
    "core/base": [],
    "core/device": ["core/base"],
    "core/kv": ["core/base", "core/device"],
    "core/store": ["core/base", "core/device", "core/kv"],
    "core/kernels": ["core/base", "core/device", "core/kv"],
    "core/tokenizer": ["core/base"],
    "core/model/config": ["core/base", "core/device"],
    "core/model/checkpoint": ["core/base", "core/device", "core/model/config"],
    "core/model/network": ["core/base", "core/device", "core/kv", "core/kernels", "core/model/config",
                           "core/model/checkpoint"],
    "core/sentence": ["core/base", "core/tokenizer", "core/model/config", "core/model/network"],
    "core/reuse": ["core/base", "core/device", "core/kv", "core/kernels", "core/model/config", "core/tokenizer"],
    "core/engine": ["core/base", "core/device", "core/kv", "core/store", "core/kernels", "core/model/config",
                    "core/model/checkpoint", "core/model/network", "core/reuse", "core/tokenizer"],
    "methods": ["core/*"],
    "baselines": ["core/base", "core/device"],
    "workloads": ["core/base", "core/tokenizer"],
    "results": ["core/base"],
    "checks": ["core/base", "core/device", "core/tokenizer", "results"],
    "experiments/framework": ["core/*", "methods", "baselines", "workloads", "results"],
    "experiments/serving": ["core/base", "core/tokenizer", "workloads", "results", "experiments/framework"],
    "experiments/kinds": ["core/*", "methods", "baselines", "workloads", "results", "experiments/framework",
                          "experiments/serving"],
    "server": ["core/*"],
    "app": ["core/*", "methods", "baselines", "workloads", "results", "checks", "experiments/framework",
            "experiments/kinds", "experiments/serving", "server"],
}
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def folder_of(path):
    """The longest listed folder that holds `path`, or None."""
    found = [folder for folder in MAY_INCLUDE if path.startswith(folder + "/")]
    return max(found, key=len) if found else None


def island_of(path):
    """methods/<one> and baselines/<one>: their own folder each, but for the registry."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("methods", "baselines") and len(parts) > 2 else None


def allows(folder, target):
    return any(target == may or (may.endswith("/*") and target.startswith(may[:-1])) for may in MAY_INCLUDE[folder])


def faults_of(path, text):
    faults = []
    folder = folder_of(path)
    if folder is None:
        return [f"{path}: its folder is not in MAY_INCLUDE of {pathlib.Path(__file__).name}"]
    for include in INCLUDE.findall(text):
        target = folder_of(include)
        if target is None:
            if include.startswith("tests/"):
                faults.append(f"{path} includes {include}: only tests include tests")
            continue
        if island_of(path) and island_of(include) and island_of(path) != island_of(include):
            faults.append(f"{path} includes {include}: methods compose through plans, not through each other")
        if target != folder and not allows(folder, target):
            faults.append(f"{path} includes {include}: {folder} may not know {target}")
    return faults


def cycle_in(arrows):
    """A cycle of the graph {node: set of nodes} as a list of nodes, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for after in sorted(arrows.get(node, ())):
            found = visit(after)
            if found:
                return found
        path.pop()
        done.add(node)
        return None

    for node in sorted(arrows):
        found = visit(node)
        if found:
            return found
    return None


def self_test():
    """The rules refuse what they are there to refuse."""
    assert faults_of("core/kv/a.h", '#include "core/kernels/attention/attention.h"\n')
    assert faults_of("core/engine/a.cpp", '#include "methods/auto/auto.h"\n')
    assert faults_of("methods/auto/a.cpp", '#include "methods/paged/paged.h"\n')
    assert faults_of("core/new_folder/a.h", "")
    assert faults_of("app/a.cpp", '#include "tests/support/data.h"\n')
    assert not faults_of("methods/auto/a.cpp", '#include "core/reuse/tree_plan.h"\n#include <vector>\n')
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}}) is None


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    faults, folder_arrows, header_arrows, files = [], {}, {}, 0
    for top in ("core", "methods", "baselines", "workloads", "results", "checks", "experiments", "server", "app"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            text = file.read_text()
            faults += faults_of(path, text)
            for include in INCLUDE.findall(text):
                if folder_of(include) is None:
                    continue
                if folder_of(path) != folder_of(include):
                    folder_arrows.setdefault(folder_of(path), set()).add(folder_of(include))
                header_arrows.setdefault(path, set()).add(include)
    for what, arrows in (("folders", folder_arrows), ("files", header_arrows)):
        cycle = cycle_in(arrows)
        if cycle:
            faults.append(f"a cycle of {what}: " + " -> ".join(cycle))
    for fault in faults:
        print(fault)
    print(f"{files} files, {len(faults)} faults")
    return 1 if faults or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
