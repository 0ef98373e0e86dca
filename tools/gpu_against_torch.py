#!/usr/bin/env python3
"""Times our attention against PyTorch's on the same device and shapes: gpu_against_torch.py BENCH OUT.jsonl [--filter RE]

BENCH is cuda_attention_bench; the names of its benchmarks contain the shapes. Each round runs our benchmarks in one process
and then, for each shape, every attention kernel of PyTorch that takes it (FlashAttention, cuDNN's, memory-efficient). All
are timed by events, with none of their data in L2. PyTorch reads contiguous keys and values; it cannot share prompts, so
each sequence has a copy. OUT has one line per shape: every round's microseconds, the medians, and the ratio of ours to
PyTorch's fastest kernel.
"""
import argparse
import contextlib
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys

NAME = re.compile(r"attention/(prefill|decode)/([^/]+)/heads:(\d+)/kv_heads:(\d+)/head_dim:(\d+)/rows:(\d+)/shared:(\d+)"
                  r"/own:(\d+)(?:/manual_time)?$")
ROUNDS = 5
SAMPLES = 20   # number of PyTorch's samples in a round, whose median counts


@dataclasses.dataclass
class Shape:
    is_prefill: bool
    model: str
    heads: int
    kv_heads: int
    head_dim: int
    rows: int
    shared: int
    own: int

    @property
    def sequences(self):
        return 1 if self.is_prefill else self.rows

    @property
    def queries(self):
        """Queries per sequence."""
        return self.rows if self.is_prefill else 1

    @property
    def keys(self):
        """Keys per sequence."""
        return self.shared + self.own


def shape_of(name):
    """Parses the shape from a benchmark's name; None for other benchmarks."""
    found = NAME.match(name)
    return Shape(found[1] == "prefill", found[2], *map(int, found.groups()[2:])) if found else None


def run_bench(program, *options):
    result = subprocess.run([program, *options], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{program} ended with status {result.returncode}:\n{result.stderr[-3000:]}")
    return result.stdout


def our_us(program, names):
    """Runs the benchmarks and returns the microseconds of each."""
    output = json.loads(run_bench(program, "--benchmark_format=json", "--benchmark_min_time=0.05",
                                  f"--benchmark_filter=^({'|'.join(name.replace('.', '[.]') for name in names)})$"))
    return {run["name"]: run["real_time"] * {"ns": 1e-3, "us": 1.0, "ms": 1e3}[run["time_unit"]]
            for run in output["benchmarks"]}


class Torch:
    """PyTorch's attention of one shape with each kernel that supports it."""

    def __init__(self, torch, shape):
        self.torch, self.shape = torch, shape
        made = torch.Generator("cuda").manual_seed(1)

        def random(*sizes):
            return torch.randn(sizes, generator=made, device="cuda", dtype=torch.bfloat16)
        self.q = random(shape.sequences, shape.heads, shape.queries, shape.head_dim)
        self.k = random(shape.sequences, shape.kv_heads, shape.keys, shape.head_dim)
        self.v = random(shape.sequences, shape.kv_heads, shape.keys, shape.head_dim)
        # Read before each sample to empty the L2. If it were written, the timed code would have to write its lines
        # back.
        self.flushing = torch.zeros(torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.float32, device="cuda")

    def mask(self):
        if not self.shape.is_prefill:
            return {}
        if self.shape.shared == 0:
            return {"is_causal": True}
        from torch.nn.attention.bias import causal_lower_right
        return {"attn_mask": causal_lower_right(self.shape.queries, self.shape.keys)}

    def attention(self):
        return self.torch.nn.functional.scaled_dot_product_attention(
            self.q, self.k, self.v, enable_gqa=self.shape.heads != self.shape.kv_heads, **self.mask())

    def time_us(self):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for _ in range(SAMPLES):
            for _ in range(4):   # longer than Python takes to launch what is timed
                self.flushing.sum()
            begin.record()
            self.attention()
            end.record()
            end.synchronize()
            times.append(1e3 * begin.elapsed_time(end))
        return statistics.median(times)

    def kernels(self):
        """Returns names and contexts of the kernels that support the shape."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        found = {}
        for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION),
                              ("memory_efficient", SDPBackend.EFFICIENT_ATTENTION)):
            with contextlib.suppress(RuntimeError), sdpa_kernel(backend):
                self.attention()
                self.torch.cuda.synchronize()
                found[name] = lambda backend=backend: sdpa_kernel(backend)
        return found


def their_us(torch, shape):
    """Returns the microseconds of each kernel of PyTorch's that supports the shape."""
    side = Torch(torch, shape)
    times = {}
    for kernel, chosen in side.kernels().items():
        with chosen():
            times[kernel] = side.time_us()
    torch.cuda.empty_cache()
    return times


def in_every_round(rounds):
    """Returns, for each round, {kernel: microseconds} of the kernels that every round has."""
    kernels = [kernel for kernel in rounds[0] if all(kernel in one for one in rounds)]
    return [{kernel: one[kernel] for kernel in kernels} for one in rounds]


def record_of(torch, name, ours, theirs):
    """Returns a line of OUT. For each round, `ours` has our microseconds and `theirs` {kernel: microseconds}."""
    medians = {kernel: statistics.median(one[kernel] for one in theirs) for kernel in theirs[0]}
    fastest = min(medians, key=medians.get) if medians else None
    return {"name": name, "shape": dataclasses.asdict(shape_of(name)), "torch_version": torch.__version__,
            "device": torch.cuda.get_device_name(), "ours_us": ours,
            "torch_us": {kernel: [one[kernel] for one in theirs] for kernel in medians},
            "ours_median_us": statistics.median(ours), "torch_median_us": medians, "torch_fastest": fastest,
            "ratio": statistics.median(ours) / medians[fastest] if fastest else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--filter", default="", help="a regular expression; only benchmarks whose name holds a match")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("this python3 has no PyTorch: run with one that has, or leave this comparison out")
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no CUDA device: nvidia-smi lists them, and PyTorch has to be built for CUDA")
    names = [name for name in run_bench(options.bench, "--benchmark_list_tests").split()
             if shape_of(name) and re.search(options.filter, name)]
    if not names:
        sys.exit(f"{options.bench} has no benchmark of attention whose name holds \"{options.filter}\"")
    ours, theirs = [], []   # a dictionary by name for each round
    for _ in range(ROUNDS):
        ours.append(our_us(options.bench, names))
        theirs.append({name: their_us(torch, shape_of(name)) for name in names})
    with open(options.out, "w", encoding="utf-8") as file:
        for name in names:
            record = record_of(torch, name, [one[name] for one in ours], in_every_round([one[name] for one in theirs]))
            file.write(json.dumps(record) + "\n")
            fastest = record["torch_fastest"]
            print(f"{name}: {record['ours_median_us']:.1f} us, PyTorch " +
                  (f"{record['torch_median_us'][fastest]:.1f} us ({fastest}), ratio {record['ratio']:.3f}" if fastest
                   else "has no kernel for it"), flush=True)


if __name__ == "__main__":
    main()
