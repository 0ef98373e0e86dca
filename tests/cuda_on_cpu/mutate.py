#!/usr/bin/env python3
"""Puts seeded faults into the CUDA kernels, one at a time, and expects their tests on the CPU to fail.

Run as: mutate.py BUILD [--only TEXT] [--faults FILE] [--limit SECONDS] [--look], after the tests were built by ninja. A
fault of mutations.json names the file, the text to replace (which occurs once) and its replacement, and the test that
must fail. For a header it also names the .cu file to compile with it, and if only one order of threads shows the fault,
that order (CUDA_ON_CPU_ORDER). The tree is not changed: the changed file lies in a temporary folder that is first among
the include paths, and its object is linked before the library that has the right one.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMPILE_LIMIT_S = 300


def mutated(text, fault):
    """Returns `text` with the fault; ValueError unless the text to replace occurs exactly once."""
    found = text.count(fault["find"])
    if found != 1:
        raise ValueError(f'{fault["name"]}: {fault["file"]} has {fault["find"]!r} {found} times, not once')
    return text.replace(fault["find"], fault["replace"])


def without_output(arguments):
    """Returns the compiler's arguments without -o FILE and without those of dependency files (-MD, -MT FILE, -MF
    FILE)."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-o", "-MT", "-MF", "-c"):
            skip = argument != "-c"
        elif argument != "-MD":
            kept.append(argument)
    return kept


def compile_command(commands, source):
    """Returns the arguments, without source and output, that compile `source` of the tree for the CPU, even if nvcc
    compiles it too."""
    for entry in commands:
        if pathlib.Path(entry["file"]) == ROOT / source and "-DREPRISE_CUDA_ON_CPU" in entry["command"]:
            arguments = without_output(shlex.split(entry["command"]))
            return [a for a in arguments if a != entry["file"]]
    raise ValueError(f"{source} is not in compile_commands.json of the build: configure it with the tests")


def link_command(build, test):
    """Returns the arguments that link the test program, without its name."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "commands", f"bin/{test}"], check=True, text=True,
                            capture_output=True).stdout
    last = [line for line in listed.splitlines() if f" -o bin/{test} " in line][-1]
    arguments = shlex.split(last)
    arguments = [a for a in arguments if a not in (":", "&&")]
    at = arguments.index("-o")
    return arguments[:at] + arguments[at + 2:]


def outcome_of(build, commands, fault, limit_s):
    """Returns whether the test passes with the fault within the limit; None if the fault does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        return survives(build, commands, fault, limit_s, pathlib.Path(folder))


def compiles(build, commands, fault, folder):
    """Compiles folder/mutant.o. The fault is in its source or in a header."""
    changed = folder / fault["file"]
    changed.parent.mkdir(parents=True)
    changed.write_text(mutated((ROOT / fault["file"]).read_text(), fault))
    source = fault.get("source", fault["file"])
    if source != fault["file"]:  # a copy, because the source's own folder would come before the include paths
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        (folder / source).write_text((ROOT / source).read_text())
    arguments = compile_command(commands, source)
    compiler = [i for i, a in enumerate(arguments) if not a.endswith("ccache")][0]
    command = [arguments[compiler], "-I", folder, *arguments[compiler + 1:],
               "-w",  # a fault may leave a variable unused
               "-c", folder / source, "-o", folder / "mutant.o"]
    made = subprocess.run(command, cwd=build, timeout=COMPILE_LIMIT_S, capture_output=True, text=True)
    if made.returncode != 0:
        print(made.stderr, file=sys.stderr)
    return made.returncode == 0


def survives(build, commands, fault, limit_s, folder):
    if not compiles(build, commands, fault, folder):
        return None
    linked = link_command(build, fault["test"])
    first_object = [i for i, a in enumerate(linked) if a.endswith(".o")][0]
    linked[first_object:first_object] = [folder / "mutant.o"]
    program = folder / fault["test"]
    subprocess.run([*linked, "-o", program], cwd=build, check=True, timeout=COMPILE_LIMIT_S)
    environment = os.environ | {"CUDA_ON_CPU_ORDER": fault.get("order", "forward")}
    try:
        return subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast"], timeout=limit_s, env=environment,
                              capture_output=True).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="faults whose name holds this text")
    parser.add_argument("--faults", type=pathlib.Path, default=HERE / "mutations.json", help="in place of mutations.json")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a test, which then counts as failed")
    parser.add_argument("--look", action="store_true", help="only see that every fault has its place in the kernels")
    options = parser.parse_args()
    build = options.build.resolve()
    faults = [f for f in json.loads(options.faults.read_text()) if options.only in f["name"]]
    for fault in faults:  # checks all before the long part
        mutated((ROOT / fault["file"]).read_text(), fault)
    if options.look:
        return 0 if faults else 1
    commands = json.loads((build / "compile_commands.json").read_text())
    bad, tests = 0, set()
    for fault in faults:
        test = fault["test"], fault.get("order", "forward")
        if test not in tests:  # the unchanged program must pass, so that a failure comes from the fault
            tests.add(test)
            if not outcome_of(build, commands, fault | {"replace": fault["find"]}, options.limit):
                print(f'{fault["test"]} in the order {test[1]} fails without any fault, or takes over {options.limit:g} s')
                return 1
        outcome = outcome_of(build, commands, fault, options.limit)
        verdict = {True: "NOT CAUGHT", False: "caught", None: "DOES NOT COMPILE"}[outcome]
        bad += outcome is not False
        print(f'{verdict:>16}  {fault["name"]}', flush=True)
    print(f"{len(faults)} faults, {len(faults) - bad} caught")
    return 1 if bad or not faults else 0


if __name__ == "__main__":
    sys.exit(main())
