#!/usr/bin/env python3
"""Tests that no file knows a file above it, and that folders form no cycle.

Run as: include_graph_test.py ROOT. A file knows what it includes, and the types that it declares without including them.
Each folder lists the folders it may know. Everything else is refused, so a new folder must be added here.
Files of one folder may know each other, except that methods and baselines are islands: none knows another.

core/kernels has a room for each operation, whose parts lie in layers from the bottom up:
  promise    ROOM/*.h           what the operation computes; all that code outside core/kernels may know of it
  cpu, cuda, reference          the places where it runs; they know promises and their own kind
  front      ROOM/*.cpp         chooses the place; knows the cpu part, and devices by the promises of core/kernels/device
"""
import pathlib
import re
import sys

BELOW_KERNELS = ["core/base", "core/device", "core/kv"]
# The rooms of operations, and the other rooms that each may know.
KERNEL_ROOMS = {
    "shared": [],
    "activation": ["shared"],
    "clip": ["shared"],
    "kv_write": ["rotary", "shared"],
    "norm": ["shared"],
    "rotary": ["shared"],
    "routing": ["shared"],
    "rows": ["shared"],
    "sampling": ["shared"],
    "linear": ["rows", "shared"],
    "embedding": ["linear", "shared"],
    "attention": ["kv_write", "rotary", "shared"],
    "attention_map": ["attention", "linear", "shared"],
    "disentangled": ["attention", "shared"],
    "calibration": ["attention", "linear", "shared"],
    "device": ["activation", "attention", "attention_map", "clip", "embedding", "kv_write", "linear", "norm", "rotary",
               "routing", "rows", "sampling", "shared"],
}
PARTS_MAY_KNOW = {
    "promise": ["promise"],
    "cpu": ["promise", "cpu"],
    "cuda": ["promise", "cuda"],
    "reference": ["promise", "reference"],
    "front": ["promise", "cpu"],
}
BELOW_KINDS = ["core", "methods", "baselines", "workloads", "results", "experiments/framework", "experiments/serving"]
# The folders that each folder may know besides itself, and with them the folders inside these. What a known folder
# knows is not included. Each entry is a decision.
MAY_KNOW = {
    "core/base": [],
    "core/device": ["core/base"],
    "core/kv": ["core/base", "core/device"],
    "core/store": ["core/base", "core/device", "core/kv"],
    "core/tokenizer": ["core/base"],
    "core/model/config": ["core/base", "core/device"],
    "core/model/checkpoint": ["core/base", "core/device", "core/model/config"],
    "core/model/network": ["core/base", "core/device", "core/kv", "core/kernels", "core/model/config",
                           "core/model/checkpoint"],
    "core/sentence": ["core/base", "core/tokenizer", "core/model/config", "core/model/network"],
    "core/reuse": ["core/base", "core/device", "core/kv", "core/store", "core/kernels", "core/model/config",
                   "core/tokenizer"],
    "core/engine": ["core/base", "core/device", "core/kv", "core/store", "core/kernels", "core/model/config",
                    "core/model/checkpoint", "core/model/network", "core/reuse", "core/tokenizer"],
    "methods": ["core"],
    "baselines": ["core/base", "core/device"],
    "workloads": ["core/base", "core/tokenizer"],
    "results": ["core/base", "core/device"],  # a record keeps its machine's facts
    "checks": ["core/base", "core/device", "core/tokenizer", "results"],
    "experiments/framework": ["core/base", "core/device", "core/reuse", "workloads", "results"],
    "experiments/serving": ["core/base", "core/tokenizer", "workloads", "results", "experiments/framework"],
    "experiments/kinds": BELOW_KINDS,  # the registry: it knows every room
    "experiments/kinds/shared": BELOW_KINDS,
    "experiments/kinds/accuracy": [*BELOW_KINDS, "experiments/kinds/shared"],
    "experiments/kinds/attention": [*BELOW_KINDS, "experiments/kinds/shared"],
    "experiments/kinds/counts": [*BELOW_KINDS, "experiments/kinds/shared", "experiments/kinds/serving"],
    "experiments/kinds/latency": [*BELOW_KINDS, "experiments/kinds/shared"],
    "experiments/kinds/sentences": [*BELOW_KINDS, "experiments/kinds/shared"],
    "experiments/kinds/serving": [*BELOW_KINDS, "experiments/kinds/shared"],
    "server": ["core"],
    "app": ["core", "methods", "baselines", "workloads", "results", "checks", "experiments", "server"],
}
MAY_KNOW |= {f"core/kernels/{room}": BELOW_KERNELS + [f"core/kernels/{below}" for below in rooms]
             for room, rooms in KERNEL_ROOMS.items()}
TOPS = ("core", "methods", "baselines", "workloads", "results", "checks", "experiments", "server", "app")
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*',
                      re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"\w+|::|[^\w\s]")
KEYS = ("class", "struct", "union", "enum")


def folder_of(path):
    """Returns the longest listed folder that contains `path`, or None."""
    found = [folder for folder in MAY_KNOW if path.startswith(folder + "/")]
    return max(found, key=len) if found else None


SHARED_ISLAND = "methods/layer_policies"   # no method: rules for layers, of which methods are made


def island_of(path):
    """Returns methods/<one> or baselines/<one> for their files, except for the registry."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("methods", "baselines") and len(parts) > 2 else None


def part_of(path):
    """Returns the layer of a file in a room of core/kernels; None for a file of another folder."""
    if not path.startswith("core/kernels/"):
        return None
    inside = path.split("/")[3:]
    if len(inside) > 1:
        return inside[0]
    return "promise" if inside[0].endswith((".h", ".cuh")) else "front"


def layer_of(path):
    """Returns the node of `path` in the graph that must have no cycle."""
    folder, part = folder_of(path), part_of(path)
    return folder if part in (None, "promise") else f"{folder} ({part})"


def allows(folder, target):
    return any(target == may or target.startswith(may + "/") for may in MAY_KNOW[folder])


def may_know(path, target_path):
    """Returns why the file at `path` may not know the one at `target_path`, or None."""
    folder, target = folder_of(path), folder_of(target_path)
    islands = island_of(path), island_of(target_path)
    if all(islands) and islands[0] != islands[1] and islands[1] != SHARED_ISLAND:
        return "methods compose through plans, not through each other"
    part, target_part = part_of(path), part_of(target_path)
    asks_device = part == "front" and target == "core/kernels/device" and target_part == "promise"
    if target != folder and not allows(folder, target) and not asks_device:
        # the registry of kinds is above their rooms
        if not (folder == "experiments/kinds" and target.startswith("experiments/kinds/")):
            return f"{folder} may not know {target}"
    if part is not None and part not in PARTS_MAY_KNOW:
        return f"{part} is no part of an operation: " + ", ".join(PARTS_MAY_KNOW)
    if target_part is not None and target_part not in PARTS_MAY_KNOW.get(part, ["promise"]):
        return f"the {target_part} part of {target} is not for " + (f"a {part} part" if part else folder)
    return None


def without_template(tokens):
    """Returns `tokens` without a leading template<...>."""
    while tokens[:1] == ["template"]:
        depth = 0
        for i, token in enumerate(tokens[1:], 1):
            depth += (token == "<") - (token == ">")
            if depth == 0:
                break
        tokens = tokens[i + 1:]
    return tokens


def named_type(tokens):
    """Returns the name in `class A::B final : ...`, "" if `tokens` do not begin a type, and the number of tokens
    read."""
    tokens = without_template(tokens)
    if not tokens or tokens[0] not in KEYS:
        return "", []
    rest = tokens[1:]
    if tokens[0] == "enum" and rest[:1] in (["class"], ["struct"]):
        rest = rest[1:]
    while rest[:2] == ["[", "["]:
        rest = rest[rest.index("]") + 2:]
    name = []
    while rest and (re.match(r"\w", rest[0]) or rest[0] == "::") and rest[0] != "final":
        if name and name[-1] != "::" and rest[0] != "::":
            break
        name.append(rest[0])
        rest = rest[1:]
    return "".join(name).removeprefix("::"), rest


class Types:
    """The types that one file defines, and those that it names without defining them, by qualified name."""

    def __init__(self, text):
        self.defined, self.declared, self.mentioned = set(), set(), set()
        scopes, statement = [], []  # a scope: the names of a namespace, or None for any other pair of braces
        for token in TOKEN.findall(NOT_CODE.sub(" ", text)):
            if token == "{":
                scopes.append(self.opened(scopes, statement))
                statement = []
            elif token == "}":
                if scopes:
                    scopes.pop()
                statement = []
            elif token == ";":
                self.ended(scopes, statement)
                statement = []
            else:
                statement.append(token)

    @staticmethod
    def space(scopes):
        return [name for scope in scopes if scope for name in scope]

    def qualified(self, scopes, name):
        return "::".join([*self.space(scopes), name])

    def opened(self, scopes, statement):
        begin = statement[1:] if statement[:1] == ["inline"] else statement
        if begin[:1] == ["namespace"]:
            return [token for token in begin[1:] if token != "::"] or ["(anonymous)"]
        if begin == ["extern"]:
            return []
        name, rest = named_type(statement)
        if name and None not in scopes and "(" not in rest:
            self.defined.add(self.qualified(scopes, name))
        self.note_mentions(scopes, statement)
        return None

    def ended(self, scopes, statement):
        if None not in scopes:
            name, rest = named_type(statement)
            if name and (not rest or rest[0] == ":"):
                self.declared.add(self.qualified(scopes, name))
                return
        self.note_mentions(scopes, statement)

    def note_mentions(self, scopes, statement):
        """Notes `friend class A;`, and `class A*` or `class A&` in a declaration."""
        for i, token in enumerate(statement):
            if token in KEYS[:3]:
                name, rest = named_type(statement[i:])
                is_friend = i > 0 and statement[i - 1] == "friend" and not rest
                if name and (is_friend or rest[:1] in (["*"], ["&"])):
                    self.mentioned.add((tuple(self.space(scopes)), name))


def types_of(files):
    """Returns {path: Types} and {qualified name: paths that define it}."""
    types, definers = {path: Types(text) for path, text in files.items()}, {}
    for path, found in types.items():
        for name in found.defined:
            definers.setdefault(name, []).append(path)
    return types, definers


def found_from(space, name, definers):
    """Returns the qualified name that `name` means in the namespace `space`, or None if the tree does not define it."""
    for depth in range(len(space), -1, -1):
        candidate = "::".join([*space[:depth], name])
        if candidate in definers:
            return candidate
    return None


def faults_of_types(path, types, definers):
    faults = []
    names = {(name, name) for name in types.declared if "(anonymous)" not in name}
    names |= {(name, found_from(space, name, definers)) for space, name in types.mentioned}
    for written, name in sorted(names, key=str):
        if name is None:
            continue
        if name not in definers:
            if name.startswith("reprise::"):  # other names belong to libraries
                faults.append(f"{path} declares {written}, which no file defines")
            continue
        if any(folder_of(definer) == folder_of(path) for definer in definers[name]):
            continue  # an operation's promise may own what its cpu part hides
        reasons = [may_know(path, definer) for definer in definers[name]]
        if all(reasons):
            faults.append(f"{path} declares {written} of {definers[name][0]}: {reasons[0]}")
    return faults


def faults_of_includes(path, text):
    if folder_of(path) is None:
        return [f"{path}: its folder is not in MAY_KNOW of {pathlib.Path(__file__).name}"]
    faults = []
    for include in INCLUDE.findall(text):
        if folder_of(include) is None:
            if include.startswith("tests/"):
                faults.append(f"{path} includes {include}: only tests include tests")
            continue
        reason = may_know(path, include)
        if reason:
            faults.append(f"{path} includes {include}: {reason}")
    return faults


def cycle_in(arrows):
    """Returns a cycle of the graph {node: set of nodes} as a list of nodes, or None."""
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


def faults_of(files):
    """Returns all faults of {path: text}."""
    faults, folder_arrows, file_arrows = [], {}, {}
    types, definers = types_of(files)
    for path, text in files.items():
        found = faults_of_includes(path, text)
        faults += found
        if folder_of(path) is None:
            continue
        faults += faults_of_types(path, types[path], definers)
        for include in INCLUDE.findall(text):
            if folder_of(include) is None:
                continue
            if layer_of(path) != layer_of(include):
                folder_arrows.setdefault(layer_of(path), set()).add(layer_of(include))
            file_arrows.setdefault(path, set()).add(include)
    for what, arrows in (("folders", folder_arrows), ("files", file_arrows)):
        cycle = cycle_in(arrows)
        if cycle:
            faults.append(f"a cycle of {what}: " + " -> ".join(cycle))
    return faults


def self_test():
    """Tests that the rules refuse what they must and nothing else."""
    def including(path, *includes):
        return faults_of({path: "".join(f'#include "{include}"\n' for include in includes)})

    kernels = "core/kernels/"
    for path, include in (
            ("core/kv/a.h", kernels + "attention/attention.h"),
            ("core/kv/a.h", "core/store/segment_store.h"),
            ("core/engine/a.cpp", "methods/auto/auto.h"),
            ("methods/auto/a.cpp", "methods/paged/paged.h"),
            ("app/a.cpp", "tests/support/data.h"),
            ("server/a.h", "experiments/framework/kind.h"),
            ("experiments/framework/a.h", "methods/registry.h"),
            ("experiments/kinds/shared/a.h", "experiments/kinds/serving/serving.h"),
            ("experiments/kinds/latency/a.h", "experiments/kinds/attention/attention_kind.h"),
            (kernels + "attention/a.h", kernels + "attention_map/attention_map.h"),  # upward between operations
            (kernels + "norm/a.h", kernels + "norm/cpu/norm.h"),                     # upward inside one
            (kernels + "norm/cpu/a.cpp", kernels + "device/device_kernels.h"),
            (kernels + "norm/cpu/a.cpp", kernels + "norm/reference/norm.h"),
            (kernels + "norm/norm.cpp", kernels + "norm/cuda/norm.cuh"),
            (kernels + "linear/a.h", kernels + "device/device_kernels.h"),
            ("core/model/network/a.cpp", kernels + "linear/cpu/panels.h")):
        assert including(path, include), f"{path} may include {include}"
    for path, includes in (("methods/auto/a.cpp", ("core/reuse/tree_plan.h", "vector")),
                           ("experiments/kinds/a.cpp", ("experiments/kinds/serving/serving.h",)),
                           (kernels + "norm/norm.cpp", (kernels + "device/device_kernels.h", kernels + "norm/cpu/norm.h")),
                           (kernels + "attention_map/cpu/a.cpp", (kernels + "linear/cpu/linear_task.h",))):
        assert not including(path, *includes), including(path, *includes)
    assert faults_of({"core/new_folder/a.h": ""})

    upper = {kernels + "device/a.h": "namespace reprise::kernels {\nclass Table final : public Base<int> { int i; };\n}\n"}
    for seeded in ("namespace reprise { namespace kernels {\nclass Table;  // above\n} }\n",
                   "namespace reprise::kernels { struct Table; }\n",
                   "namespace reprise { class A { friend class kernels::Table; }; }\n",
                   "namespace reprise { void f(class kernels::Table& table); }\n"):
        assert faults_of(upper | {"core/device/a.h": seeded}), seeded
        assert not faults_of(upper | {"core/engine/a.h": seeded}), seeded
    assert faults_of({"core/base/a.h": "namespace reprise { class Gone; }\n"})
    assert not faults_of({"core/base/a.h": "namespace library { class Other; }\n"})
    for harmless in ("// class kernels::Table;\n", "namespace reprise { class Own; class Own {}; }\n",
                     "namespace reprise { template <class T> struct Own; template <class T> struct Own { struct In; }; }\n",
                     "namespace reprise { enum class E : int; enum class E : int { kA }; }\n",
                     'const char* kText = "namespace reprise::kernels { class Table; }";\n'):
        assert not faults_of(upper | {"core/device/a.h": harmless}), faults_of(upper | {"core/device/a.h": harmless})
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}}) is None


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    files = {file.relative_to(root).as_posix(): file.read_text()
             for top in TOPS for file in sorted((root / top).rglob("*")) if file.suffix in SOURCES}
    faults = faults_of(files)
    for fault in faults:
        print(fault)
    declared = sum(len(Types(text).declared) for text in files.values())
    print(f"{len(files)} files, {declared} types declared before their definition, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
