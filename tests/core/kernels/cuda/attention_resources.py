#!/usr/bin/env python3
"""Prints what each compiled kernel takes of an SM, a JSON object a line.

Run as: attention_resources.py [--no-spills WORD] OBJECT_OR_LIBRARY...
Reads cuobjdump's resource usage: registers of a thread, bytes of its stack (where spilled registers go) and of static
shared memory. With --no-spills, exits 1 if a kernel whose name holds WORD has a stack.
"""
import argparse
import json
import re
import subprocess
import sys

ARCH = re.compile(r"^arch = (\S+)")
FUNCTION = re.compile(r"^\s*Function (\S+):")
USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def demangled(name):
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()


def kernels_of(path):
    """Dictionaries of arch, kernel, registers, stack_bytes, static_shared_bytes."""
    text = subprocess.run(["cuobjdump", "-res-usage", path], capture_output=True, text=True, check=True).stdout
    arch = name = None
    for line in text.splitlines():
        if found := ARCH.match(line):
            arch = found[1]
        elif found := FUNCTION.match(line):
            name = found[1]
        elif name and (found := USAGE.search(line)):
            registers, stack, shared, local = map(int, found.groups())
            yield {"arch": arch, "kernel": demangled(name), "registers": registers, "stack_bytes": stack + local,
                   "static_shared_bytes": shared}
            name = None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-spills", metavar="WORD")
    parser.add_argument("objects", nargs="+")
    options = parser.parse_args()
    kernels = [kernel for path in options.objects for kernel in kernels_of(path)]
    for kernel in kernels:
        print(json.dumps(kernel))
    if not kernels:
        sys.exit(f"no kernels in {', '.join(options.objects)}: were they compiled by nvcc for an sm_ architecture?")
    spilled = [kernel for kernel in kernels
               if options.no_spills and options.no_spills in kernel["kernel"] and kernel["stack_bytes"] > 0]
    if spilled:
        sys.exit(f"{len(spilled)} kernels have a stack, first {spilled[0]['kernel']} for {spilled[0]['arch']}")


if __name__ == "__main__":
    main()
