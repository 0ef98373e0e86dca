#!/usr/bin/env python3
"""Prints what each compiled kernel takes of a thread and a block, a JSON object a line.

Run as: nvcc ... -Xptxas -v ... 2>&1 | attention_resources.py [--no-spills WORD]
Reads what ptxas says: registers of a thread, bytes of its stack, of registers that it stores there and loads again
(spills), and of static shared memory. With --no-spills, exits 1 if a kernel whose name holds WORD has spills.
"""
import argparse
import json
import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def demangled(names):
    """The names as C++ has them."""
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout.splitlines()


def kernels_of(lines):
    """A dictionary for each kernel and architecture, names still mangled."""
    kernels = []
    for line in lines:
        if found := ENTRY.search(line):
            kernels.append({"kernel": found[1], "arch": found[2]})
        elif kernels and (found := STACK.search(line)):
            kernels[-1].update(zip(("stack_bytes", "spill_store_bytes", "spill_load_bytes"), map(int, found.groups())))
        elif kernels and (found := USED.search(line)):
            kernels[-1].update(registers=int(found[1]), static_shared_bytes=int(found[2] or 0))
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-spills", metavar="WORD")
    options = parser.parse_args()
    kernels = kernels_of(sys.stdin)
    if not kernels:
        sys.exit("no kernels in the input: it has to be what nvcc -Xptxas -v prints")
    for kernel, name in zip(kernels, demangled([kernel["kernel"] for kernel in kernels])):
        kernel["kernel"] = name.replace("reprise::kernels::cuda::", "")
        print(json.dumps(kernel))
    spilled = [kernel for kernel in kernels if options.no_spills and options.no_spills in kernel["kernel"] and
               kernel["spill_store_bytes"] + kernel["spill_load_bytes"] > 0]
    if spilled:
        sys.exit(f"{len(spilled)} kernels spill registers, first {spilled[0]['kernel']} for {spilled[0]['arch']}")


if __name__ == "__main__":
    main()
