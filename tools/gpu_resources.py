#!/usr/bin/env python3
"""Compiles every CUDA kernel and prints its use of registers, memory and SMs: one JSON object per line.

    tools/gpu_resources.py BUILD [--arch sm_80 sm_90a] [--file NAME] [--no-spills] >cuda_resources.jsonl

BUILD is a build folder with REPRISE_CUDA; its compile_commands.json has the command for each .cu file. ptxas reports
registers, stack bytes, spilled bytes and static shared memory. The kernel's PTX gives its largest block
(__launch_bounds__), and the program cuda_attention_roofline_table the dynamic shared memory of attention kernels. The
blocks that an SM holds follow by the rules of the CUDA programming guide ("Technical Specifications per Compute
Capability"). --no-spills: exit 1 if any kernel spills registers.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
PROPERTIES = re.compile(r"Function properties for (\S+)")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")
SERIALIZED = re.compile(r"wgmma\.mma_async instructions are serialized .* in the function '(\S+)'")
PTX_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\([^)]*\)([^{]*)\{")
MOST_THREADS = re.compile(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")

# Per SM: warps, blocks, KiB of shared memory. All have 65536 registers in four quarters, allocated per warp in units of
# 256. Shared memory is allocated in units of 128 bytes, plus 1 KiB per block for the system.
SMS = {"80": (64, 32, 164), "86": (48, 16, 100), "87": (48, 16, 164), "89": (48, 24, 100), "90": (64, 32, 228),
       "100": (64, 32, 228), "103": (64, 32, 228), "120": (48, 24, 100), "121": (48, 24, 100)}


def rounded_up(value, unit):
    return -(-value // unit) * unit


def parse_ptxas(lines):
    """Returns a dictionary for each kernel, with mangled names. ptxas also prints the stacks of called functions under a
    kernel; only the kernel's own line counts."""
    kernels, function = [], None
    for line in lines:
        if found := ENTRY.search(line):
            kernels.append({"kernel": found[1], "arch": found[2]})
        elif found := PROPERTIES.search(line):
            function = found[1]
        elif kernels and (found := STACK.search(line)):
            if function in (None, kernels[-1]["kernel"]):
                kernels[-1].update(zip(("stack_bytes", "spill_store_bytes", "spill_load_bytes"), map(int, found.groups())))
        elif kernels and (found := USED.search(line)):
            kernels[-1].update(registers=int(found[1]), static_shared_bytes=int(found[2] or 0))
    return kernels


def parse_ptx(text):
    """Returns the largest block size of each kernel that declares one."""
    threads = {}
    for name, attributes in PTX_ENTRY.findall(text):
        if found := MOST_THREADS.search(attributes):
            x, y, z = (int(number or 1) for number in found.groups())
            threads[name] = x * y * z
    return threads


def number_of(arch):
    """Returns an architecture's key in SMS: "90" for sm_90a."""
    return re.sub(r"\D", "", arch)


def occupancy(arch, threads, registers, shared_bytes):
    """Returns the blocks that an SM holds at once, the resource that limits them, and the share of its warps they use."""
    most_warps, most_blocks, shared_kib = SMS[number_of(arch)]
    warps = -(-threads // 32)
    warps_by_registers = 4 * (65536 // 4 // rounded_up(registers * 32, 256))
    limits = {"warps": most_warps // warps, "blocks": most_blocks, "registers": warps_by_registers // warps,
              "shared memory": (shared_kib << 10) // rounded_up(shared_bytes + 1024, 128)}
    limit = min(limits, key=limits.get)
    return {"blocks_of_sm": limits[limit], "limited_by": limit, "occupancy": round(limits[limit] * warps / most_warps, 3)}


def demangled(names):
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout.splitlines()


def command_for(entry, arch, folder):
    """Returns the build's command for one architecture, with ptxas's report and the PTX kept in `folder`."""
    words, command = shlex.split(entry["command"]), []
    while words:
        word = words.pop(0)
        if word in ("-o", "-gencode", "-arch", "-MF", "-MT", "-MQ"):
            words.pop(0)
        elif not re.match(r"--?(generate-code|gencode|arch|MD)\b|-M", word):
            command.append(word)
    compute = arch.replace("sm_", "compute_")
    return command + [f"-gencode=arch={compute},code={arch}", "-Xptxas", "-v", "--keep", f"--keep-dir={folder}", "-o",
                      f"{folder}/kernels.o"]


def is_kernel_source(entry):
    """Leaves out sources that the emulator of tests/cuda_on_cpu compiles as C++."""
    return "/core/" in entry["file"] and entry["file"].endswith(".cu") and " -x cu " in entry["command"]


def compiled(entry, arch):
    """Returns the kernels of a source for an architecture."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(command_for(entry, arch, folder), cwd=entry["directory"], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{entry['file']} does not compile for {arch}:\n{result.stderr[-3000:]}")
        threads = {}
        for path in pathlib.Path(folder).glob("*.ptx"):
            threads.update(parse_ptx(path.read_text(encoding="utf-8")))
    kernels = parse_ptxas(result.stderr.splitlines() + result.stdout.splitlines())
    for kernel in kernels:
        kernel.update(file=pathlib.Path(entry["file"]).name, block_threads=threads.get(kernel["kernel"], 1024))
    for name in SERIALIZED.findall(result.stderr + result.stdout):
        print(f"{name}: ptxas waits for each wgmma before it starts the next", file=sys.stderr)
    return kernels


def dynamic_shared(build):
    """Returns pairs (pattern of a kernel's name, bytes)."""
    lines = subprocess.run([build / "bin/cuda_attention_roofline_table", "--tiles"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    tiles = [json.loads(line) for line in lines]
    return [(re.compile(tile["kernel"]), tile["dynamic_shared_bytes"], tile["tile"]) for tile in tiles]


def complete(kernel, name, tiles):
    """Returns the kernel's line with readable name, dynamic shared memory and occupancy."""
    kernel = {"kernel": name.replace("reprise::kernels::cuda::", "").replace("(anonymous namespace)::", ""), **{
        key: value for key, value in kernel.items() if key != "kernel"}, "dynamic_shared_bytes": 0}
    for pattern, shared, tile in tiles:
        if pattern.search(kernel["kernel"]):
            kernel.update(dynamic_shared_bytes=shared, tile=tile)
    kernel.update(occupancy(kernel["arch"], kernel["block_threads"], kernel["registers"],
                            kernel["static_shared_bytes"] + kernel["dynamic_shared_bytes"]))
    return kernel


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_90a"])
    parser.add_argument("--file", help="only sources whose name holds this")
    parser.add_argument("--no-spills", action="store_true")
    options = parser.parse_args()
    for arch in options.arch:
        if number_of(arch) not in SMS:
            parser.error(f"--arch {arch}: known are {', '.join('sm_' + number for number in SMS)}; add it to SMS here")
    entries = [entry for entry in json.loads((options.build / "compile_commands.json").read_text(encoding="utf-8"))
               if is_kernel_source(entry) and (options.file or "") in entry["file"]]
    if not entries:
        sys.exit(f"{options.build} compiles no .cu file of core/: configure it with -DREPRISE_CUDA=ON")
    tiles, spilled = dynamic_shared(options.build), []
    for entry in sorted(entries, key=lambda entry: entry["file"]):
        for arch in options.arch:
            kernels = compiled(entry, arch)
            for kernel, name in zip(kernels, demangled([kernel["kernel"] for kernel in kernels])):
                line = complete(kernel, name, tiles)
                print(json.dumps(line), flush=True)
                if line["spill_store_bytes"] + line["spill_load_bytes"] > 0:
                    spilled.append(line)
    if options.no_spills and spilled:
        sys.exit(f"{len(spilled)} kernels spill registers, first {spilled[0]['kernel']} for {spilled[0]['arch']}")


if __name__ == "__main__":
    main()
