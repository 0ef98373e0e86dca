"""The stages that tools/gpu_run.py runs on a GPU machine; each is a list of steps with time limits."""
import dataclasses
import pathlib
import shutil
import subprocess


@dataclasses.dataclass
class Step:
    """One command. `records` is a file it writes, JSON or one record per line; its records go to the stage's file."""
    name: str
    command: list
    records: pathlib.Path | None = None
    accepted: tuple = (0,)      # exit statuses
    needed_by_all: bool = False   # if it fails, no further step runs
    most_s: float | None = None   # most seconds of the stage's budget; None: all that is left
    needs: str | None = None      # a program without which the step is left out
    needs_module: str | None = None   # a module of Python without which the step is left out
    builds: bool = False          # runs even if it passed before, because its programs may not be here any more


@dataclasses.dataclass
class Stage:
    key: str
    title: str
    budget_s: float
    steps: list


def with_patience(stage, times):
    """Returns the stage with all its limits of time multiplied."""
    steps = [dataclasses.replace(step, most_s=step.most_s and step.most_s * times) for step in stage.steps]
    return dataclasses.replace(stage, budget_s=stage.budget_s * times, steps=steps)


def architectures():
    """Returns the architectures of all devices as CMake lists them, because CUDA's first device need not be nvidia-smi's;
    Hopper's if they are unknown. 90a has wgmma and setmaxnreg."""
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True,
                               text=True, check=True, timeout=60).stdout.replace(".", "").split()
    except (OSError, subprocess.SubprocessError):
        found = []
    return ";".join(("90a" if one == "90" else one) + "-real" for one in sorted(set(found)) or ["90"])


def shell(text):
    return ["bash", "-c", text]


def facts_step():
    return Step("facts", shell("nvidia-smi; nvcc --version; g++ --version; cmake --version; ninja --version; nproc; "
                               "free -g; python3 -c 'import importlib.metadata as m; print(m.version(\"torch\"))'; true"),
                most_s=60)


def build_stage(tree, build, pack, options):
    """Unpacks, configures and compiles what the other stages run."""
    unpacked = build / "third_party"
    has_ninja = shutil.which("ninja") is not None
    configure = ["cmake", "-S", tree, "-B", build, "-G", "Ninja" if has_ninja else "Unix Makefiles",
                 "-DCMAKE_BUILD_TYPE=Release", "-DREPRISE_CUDA=ON", f"-DCMAKE_CUDA_ARCHITECTURES={options.arch}",
                 f"-DREPRISE_THIRD_PARTY={unpacked}", "-DREPRISE_TORCH=OFF", "-DREPRISE_WARNINGS_AS_ERRORS=OFF",
                 f"-DREPRISE_REVISION={options.revision}"]
    # A build that is stopped is of no use. This stage and stage 1 fit into ten minutes, the most that a call may take.
    return Stage("build", "what the stages run, for this device only", 420, [
        facts_step(),
        Step("unpack", shell(f"rm -rf '{unpacked}' && mkdir -p '{unpacked}' && tar -xf '{pack}' -C '{unpacked}'"),
             needed_by_all=True, builds=True),
        Step("configure", configure, needed_by_all=True, builds=True),
        # One program that fails to compile does not keep the others from being built and run.
        Step("compile", ["cmake", "--build", build, "--target", "gpu", "-j", str(options.jobs), "--",
                         *(["-k", "0"] if has_ninja else ["-k"])], builds=True),
    ])


def smoke_stage(build):
    return Stage("1", "smoke and correctness", 120, [
        Step("device", shell(f"'{build}/bin/reprise' probe --device cuda --json >'{build}/machine.json'"),
             build / "machine.json", needed_by_all=True),
        # --verbose prints lines as they come: the log also shows which test hung when the stage's time was over.
        Step("tests", ["ctest", "--test-dir", build, "-L", "gpu", "-j", "4", "--verbose", "--no-tests=error"]),
    ])


def bench(build, program, group="", names="", options=()):
    """Runs a benchmark program, or only its benchmarks whose names begin with `group` (or a match of `names`)."""
    name = f"{program}_{group}" if group else program
    out = build / f"{name}.json"
    return Step(name, [build / "bin" / program, f"--benchmark_filter=^{names or group}", "--benchmark_min_time=0.05",
                       "--benchmark_out_format=json", f"--benchmark_out={out}", *options], out, most_s=120)


def kernels_stage(tree, build):
    against = build / "against_torch.jsonl"
    return Stage("2", "kernels against limits and against PyTorch", 300, [
        bench(build, "cuda_attention_bench", "attention"),
        bench(build, "cuda_gemm_bench"),
        bench(build, "cuda_rows_bench"),
        bench(build, "cuda_attention_map_bench"),
        Step("against_torch", ["python3", tree / "tools/gpu_against_torch.py", build / "bin/cuda_attention_bench", against],
             against, needs_module="torch"),
    ])


def experiment(build, name, *options, most_s=None):
    """Runs a shipped experiment with `reprise run`. Exit statuses 3 and 4 mean that points or figures are missing."""
    out = build / "records" / name.replace("/", "_")
    command = [build / "bin/reprise", "run", name, "--device", "cuda", "--scale", "paper", "--out", out, *options]
    return Step(name, command, out / "records.jsonl", accepted=(0, 3, 4), most_s=most_s)


def torch_step(tree, build):
    """Builds PyTorch's methods if python3 has a PyTorch. Built late, so that a PyTorch against which our module does not
    compile costs nothing else. Without one, `reprise` leaves these methods out."""
    targets = "reprise cuda_device_kinds_test"
    return Step("torch", shell(f"cmake -S '{tree}' -B '{build}' -DREPRISE_TORCH= && cmake --build '{build}' --target {targets} "
                               f"&& '{build}/bin/cuda_device_kinds_test' --gtest_filter='*PyTorch*'"), most_s=150, builds=True)


def tables_stage(tree, build):
    return Stage("3", "the papers' tables of one attention layer", 480, [
        torch_step(tree, build),
        experiment(build, "chunk_attention/table3", "--set", "dtypes=bf16", most_s=100),
        experiment(build, "prompt_cache/memcpy", "--set", "series=host_to_host,host_to_device,device_to_device",
                   most_s=60),
        experiment(build, "relay_attention/fig1_fig5", "--set", "dtypes=bf16", most_s=100),
        bench(build, "cuda_attention_bench", "table3"),
    ])


def models_stage(build):
    half = ("--set", "dtypes=bf16", "--set", "settings.prefill_chunk=2048")
    # The paper's 300 requests would take 500 seconds per method, so fewer arrive faster here.
    few = ["--set", 'cases=[{"prompt_tokens":2048,"shared_tokens":2048,"rate_rps":4}]']
    for setting in ("requests=40", "least_requests=40", "least_duration_s=0"):
        few += ["--set", f"settings.{setting}"]
    # The paper's 1000 requests would end within the minute that a valid run must last, so no length is required.
    burst = ("--set", 'cases=[{"user_tokens":64,"output_tokens":128}]', "--set", "settings.requests=300", "--set",
             "settings.least_duration_s=0", "--set", 'sweep={"shared_tokens":[512,2048]}')
    return Stage("4", "whole models", 540, [
        experiment(build, "prompt_cache/ttft", *half, most_s=120),
        experiment(build, "shared_prefix/end_to_end", *half, most_s=150),
        experiment(build, "relay_attention/fig8", *half, *burst, most_s=150),
        experiment(build, "chunk_attention/table4", *half, *few, most_s=120),
    ])


def sanitizer(build, tool, tests, most_s):
    """Runs attention's tests under a tool of compute-sanitizer. On a machine where the tool cannot attach, programs find no
    device and skip their tests, so at least one test must have passed."""
    program = f"'{build}/bin/cuda_device_attention_test' --gtest_filter='{tests}'"
    return Step(tool, shell(f"set -o pipefail; compute-sanitizer --tool {tool} --error-exitcode 9 {program} | tee -a /dev/stderr | "
                            "grep -E '[[]  PASSED  []] [1-9]' >/dev/null"), needs="compute-sanitizer", most_s=most_s)


def counters(build, program, kernels):
    """Reads the hardware's counters of one launch of each kernel, which are printed to the log. `kernels` maps the
    beginning of a kernel's name to the beginning of the name of a benchmark that launches it."""
    one_each = [f"ncu --clock-control none --kernel-name regex:^{kernel} --launch-skip 8 --launch-count 1 "
                f"'{build}/bin/{program}' --benchmark_filter='^{benchmark}' --benchmark_min_time=0.001"
                for kernel, benchmark in kernels.items()]
    return Step(f"{program}_counters", shell(" && ".join(one_each)), needs="ncu", most_s=120)


def checkers_stage(build):
    few = "*RandomPlans*:*PartsMerge*:*Warpgroups*:*EveryEdge*"
    return Stage("5", "attention under compute-sanitizer, and counters of six kernels", 540, [
        sanitizer(build, "memcheck", "*", 120),
        sanitizer(build, "racecheck", few, 120),
        sanitizer(build, "synccheck", few, 60),
        counters(build, "cuda_attention_bench", {"attention_kernel": "attention/", "merge_rows": "attention/"}),
        counters(build, "cuda_rows_bench", {"norm_": "norm/", "rotate_pairs": "rotary/", "activate_": "activation/",
                                            "write_": "kv_write/"}),
    ])


def choices_stage(build):
    """Times several ways to compute the same result, in turn. The one that is faster on the device becomes the default."""
    in_turn = ("--benchmark_repetitions=9", "--benchmark_enable_random_interleaving=true")
    return Stage("6", "choices that only a device can make", 240, [
        bench(build, "cuda_attention_bench", "last_block", "(last_block/)?attention/", in_turn),
        bench(build, "cuda_attention_bench", "pool", options=in_turn),
        bench(build, "cuda_attention_bench", "tensor_maps", "tile/128x128:8x1:3:wgmma(:tma)?/prefill", in_turn),
    ])


def all_stages(tree, build, pack, options):
    return [build_stage(tree, build, pack, options), smoke_stage(build), kernels_stage(tree, build), tables_stage(tree, build),
            models_stage(build), checkers_stage(build), choices_stage(build)]
