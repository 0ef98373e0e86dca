#!/usr/bin/env python3
"""peer_scripts_test.py TREE: tests that the scripts of experiments/peers give both sides the same threads, repetitions and
users. Stubs stand in for the programs."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
PEERS = TREE / "experiments/peers"
sys.path.insert(0, str(PEERS))
import compare  # noqa: E402  (in another folder of the tree)
import prefix_cache  # noqa: E402
import serving_peers  # noqa: E402


def stub(path, document):
    """Writes a program that prints the document and, in it, its arguments."""
    path.write_text(f"#!{sys.executable}\nimport json, sys\n"
                    f"print(json.dumps({document!r} | {{'arguments': sys.argv[2:]}}))\n", encoding="utf-8")
    path.chmod(0o755)


class PeerScripts(unittest.TestCase):
    def test_pytorch_gets_as_many_threads_as_our_benchmarks(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "bin").mkdir()
            rows = [{"name": pattern, "real_time": 1, "time_unit": "ms"} for _, pattern in compare.PAIRS.values()]
            for program in {program for program, _ in compare.PAIRS.values()}:
                stub(folder / "bin" / program, {"benchmarks": rows, "context": {}})
            stub(folder / "python", dict.fromkeys(compare.PAIRS, 0.002))
            subprocess.run([sys.executable, PEERS / "compare.py", "--build", folder, "--peer-python", folder / "python",
                            "--rounds", "1", "--out", folder / "out.json"], check=True, capture_output=True)
            report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
        threads = len(os.sched_getaffinity(0))
        self.assertEqual(report["threads"], threads)
        self.assertEqual(report["rounds"][0]["peer_s"]["arguments"], ["--threads", str(threads)])
        self.assertEqual({one["times_faster"] for one in report["summary"].values()}, {2.0})

    def test_the_prefix_cache_times_whole_and_cached_prompts_equally_often(self):
        class Sample(prefix_cache.Peer):
            def __init__(self):
                self.drawn, self.asked = 0, []

            def draw(self, tokens):
                self.drawn += 1
                return (self.drawn, tokens)

            def ttft_ms(self, *parts):
                self.asked.append(parts)
                return float(len(self.asked))
        sample = Sample()
        times = sample.round(1024, 40, 3)
        self.assertEqual((len(times["whole_ms"]), len(times["cached_ms"])), (3, 3))
        self.assertEqual(statistics.median(times["whole_ms"]), 3.0)   # the first call is a warm-up
        heads = [head for head, _ in sample.asked]
        self.assertEqual(len(set(heads[:4])), 4)   # each whole prompt is a new one
        self.assertEqual(set(heads[4:]), {heads[-1]})
        self.assertNotIn(heads[-1], heads[:4])

    def test_llama_server_has_a_slot_for_each_user(self):
        self.assertEqual([serving_peers.users_of(scale) for scale in ("smoke", "desk", "paper")], [4, 8, 16])


unittest.main()
