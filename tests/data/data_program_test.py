#!/usr/bin/env python3
"""data_program_test.py TREE PROGRAM: tests that `reprise` finds what was fetched, and names the command for what was not."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from hub_server import Hub

PROGRAM, TREE = sys.argv.pop(2), pathlib.Path(sys.argv.pop(1)).resolve()
MODEL = TREE / "models/quickstart"


def shards_of(content):
    """Returns the files as which transformers would save a model, two shards and an index: {name: bytes}."""
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    header.pop("__metadata__", None)
    names, files, places = sorted(header), {}, {}
    for number, part in enumerate((names[::2], names[1::2]), 1):
        file = f"model-{number:05}-of-00002.safetensors"
        shard, blob = {}, b""
        for name in part:
            begin, end = header[name]["data_offsets"]
            shard[name] = {**header[name], "data_offsets": [len(blob), len(blob) + end - begin]}
            blob += data[begin:end]
            places[name] = file
        text = json.dumps(shard).encode()
        text += b" " * (-len(text) % 8)
        files[file] = len(text).to_bytes(8, "little") + text + blob
    files["model.safetensors.index.json"] = json.dumps({"metadata": {}, "weight_map": places}).encode()
    return files


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="reprise-data-program-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.environment = {**os.environ, "HF_ENDPOINT": self.hub.home, "no_proxy": "127.0.0.1",
                            "XDG_CACHE_HOME": str(self.folder / "cache")}
        for name in ("REPRISE_DATA", "HF_TOKEN", "REPRISE_PYTHON"):  # a Python that lacks matplotlib would stop `run`
            self.environment.pop(name, None)

    def reprise(self, *arguments, status=0, binary=False):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, env=self.environment, cwd=self.folder, timeout=120,
                              check=False)
        text = (done.stdout + done.stderr).decode(errors="replace")
        self.assertEqual(done.returncode, status, text)
        return done.stdout if binary else text

    def generated(self, model):
        return self.reprise("generate", "--model", model, "--prompt", "Once upon a time", "--max-new-tokens", "16", binary=True)

    def test_a_fetched_checkpoint_in_shards_runs_by_its_name(self):
        files = {file.name: file.read_bytes() for file in MODEL.iterdir() if file.suffix in (".json", ".model")}
        files.update(shards_of((MODEL / "model.safetensors").read_bytes()))
        self.hub.repositories[("model", "TinyLlama/TinyLlama_v1.1")] = files  # the catalogue's `tinyllama`
        self.reprise("data", "get", "tinyllama")
        self.assertEqual(self.generated("checkpoints/tinyllama"), self.generated(str(MODEL)))
        self.assertIn("as fetched", self.reprise("data", "check", "tinyllama"))
        weights = self.folder / "cache/reprise/checkpoints/tinyllama/model-00002-of-00002.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
        self.assertIn("fetch it anew", self.reprise("data", "check", "tinyllama", status=1))

    def test_what_is_missing_is_said_before_the_first_point_with_the_command(self):
        text = self.reprise("run", "prompt_cache/table1", "--scale", "paper", status=1)
        for name in ("llama-2-7b", "llama-2-13b", "mpt-7b", "falcon-7b"):
            self.assertIn(f"checkpoints/{name} is not here. Fetch it: reprise data get {name}\n", text)
        text = self.reprise("run", "serving/traces", "--scale", "desk", status=1)
        self.assertIn("Fetch it: reprise data get mooncake-conversation", text)
        self.assertFalse((self.folder / "out").exists())
        text = self.reprise("generate", "--model", "checkpoints/mistral-7b", "--prompt", "x", status=1)
        self.assertIn("Fetch it: reprise data get mistral-7b", text)

    def test_statuses_and_names_come_through(self):
        self.assertIn("llama-2-7b", self.reprise("data", "list"))
        self.assertEqual({row["here"] for row in json.loads(self.reprise("data", "list", "--json", binary=True))}, {"no"})
        self.assertIn("did you mean stsb", self.reprise("data", "get", "stsbb", status=1))
        self.assertIn("is gated, or is not there", self.reprise("data", "get", "llama-3-8b", status=1))
        self.assertIn("--scale", self.reprise("data", "get", "mmlu", "--scale", "huge", status=1))
        self.assertIn("unknown", self.reprise("data", "fetch", status=1))

    def test_a_signal_ends_the_fetch(self):
        files = {"config.json": b"{}", "model.safetensors": bytes(300_000)}
        self.hub.repositories[("model", "TinyLlama/TinyLlama_v1.1")] = files
        self.hub.slow.add("model.safetensors")
        self.addCleanup(self.hub.slow.clear)
        with subprocess.Popen([PROGRAM, "data", "get", "tinyllama"], env=self.environment, cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
            while not self.hub.asked("/cdn/") and tool.poll() is None:
                time.sleep(0.02)
            tool.terminate()
            self.assertEqual(tool.wait(), -signal.SIGTERM)
        self.hub.slow.clear()
        self.assertIn("tinyllama is there", self.reprise("data", "get", "tinyllama"))

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for arguments in (["list"], ["list", "--json"]):
                done = subprocess.run([PROGRAM, "data", *arguments], stdout=full, stderr=subprocess.PIPE, env=self.environment,
                                      check=False, timeout=120)
                self.assertEqual((done.returncode, done.stderr.decode()), (
                    1, "reprise: cannot write to standard output: No space left on device. Is the disk full, or was it closed?\n"))


unittest.main()
