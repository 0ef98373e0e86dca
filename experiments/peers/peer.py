"""What the peers of this folder share. A peer computes the batches of kind "decode" in another runtime, so that
`reprise run` can time both in turn. `reprise` starts it as

    python3 llama_cpp_peer.py --shape JSON --dtype bf16 --kv-dtype bf16 --threads 2 --batch 32 --tokens 2112 --seed 1 --cache DIR

where JSON is a config.json as transformers writes it, --tokens is the longest sequence, and DIR keeps models that are made of
the shape. When the model is ready, the peer prints a line {"versions": {NAME: VERSION}, "precision": TEXT}. From then on it
answers each line of its standard input

    {"prompts": [[ID, ...], ...], "shared_tokens": N, "new_tokens": N}

with a line {"tokens": [[SEQUENCE, NANOSECONDS], ...]}: a pair for each generated token, in time order, with the time since
all prompts were handed over. The first shared_tokens of all prompts are equal and computed before. A line {"error": TEXT}
says what failed. A peer that cannot begin prints {"unable": TEXT} instead of its versions. With --check it prints only one of
these lines.
"""
import argparse
import hashlib
import importlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

# Idle threads of a peer must not take the cores of the program that is timed next. OpenMP's idle threads spin for up to 0.2 s.
REST_S = 0.3


class Unable(Exception):
    """Says why a batch cannot be computed, or what is missing."""


class Clock:
    """Nanoseconds since a batch began, and the tokens that came since."""

    def __init__(self):
        self.begin = time.monotonic_ns()
        self.tokens = []

    def add(self, sequences):
        now = time.monotonic_ns() - self.begin
        self.tokens.extend([sequence, now] for sequence in sequences)


def versions_of(packages):
    """Returns the version of each installed package by name. `packages` has their modules by name. Raises Unable."""
    for name, module in packages.items():
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise Unable(f"{sys.executable} cannot import {module} ({error}): {sys.executable} -m pip install "
                         f"{' '.join(packages)}") from error
    return {name: importlib.metadata.version(name) for name in packages}


def made_once(options, name, make):
    """Returns the path of the shape's model in the cache, a file or a folder. Where it does not exist, make(path) makes it. In
    `name`, {} stands for the hash of all that the model depends on."""
    text = json.dumps([options.shape, options.dtype, options.seed], sort_keys=True)
    name = name.format(hashlib.sha256(text.encode()).hexdigest()[:16])
    path = options.cache / name
    if not path.exists():
        options.cache.mkdir(parents=True, exist_ok=True)
        scratch = pathlib.Path(tempfile.mkdtemp(dir=options.cache))
        try:
            make(scratch / name)
            os.replace(scratch / name, path)
        finally:
            shutil.rmtree(scratch)
    return path


def parsed():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--shape", type=json.loads)
    parser.add_argument("--dtype", choices=["f32", "bf16"])
    parser.add_argument("--kv-dtype", choices=["f32", "bf16"])
    for name in ("threads", "batch", "tokens", "seed"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()))
    return parser.parse_args()


def serve(packages, make):
    """Runs a peer. make(options) returns an object with a text `precision` and a method run(prompts, shared_tokens,
    new_tokens) that returns a Clock."""
    options = parsed()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # so that no output of a library is taken for an answer

    def answer(value):
        answers.write(json.dumps(value) + "\n")

    try:
        versions = versions_of(packages)
        if options.check:
            return answer({"versions": versions})
        peer = make(options)
    except Unable as error:
        return answer({"unable": str(error)})
    answer({"versions": versions, "precision": peer.precision})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            clock = peer.run(asked["prompts"], asked["shared_tokens"], asked["new_tokens"])
        except Exception as error:  # any library's error goes to the caller
            answer({"error": f"{type(error).__name__}: {error}"})
            continue
        time.sleep(REST_S)
        answer({"tokens": clock.tokens})
