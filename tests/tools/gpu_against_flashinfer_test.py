#!/usr/bin/env python3
"""gpu_against_flashinfer_test.py FOLDER: tests how tools/gpu_against_flashinfer.py reads the peer's lines and joins them with
ours. Needs no GPU."""
import contextlib
import io
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "tools"))
from gpu_against_flashinfer import key_of, record_of, their_us  # noqa: E402  (the folder is an argument)
from gpu_against_torch import in_every_round, shape_of  # noqa: E402

NAME = "attention/decode/llama-3-8b/heads:32/kv_heads:8/head_dim:128/rows:32/shared:4096/own:64/manual_time"
VERSION = {"flashinfer": "1.2.3", "commit": "abc", "gpu": "a GPU"}


def line(path, **more):
    return json.dumps({"name": "x", "path": path, "heads": 32, "kv_heads": 8, "rows": 32, "shared": 4096, "own": 64, **more})


class Records(unittest.TestCase):
    def test_kernels_are_joined_by_shape(self):
        version, times = their_us("\n".join(["noise", json.dumps(VERSION), line("cascade", us=20.0), line("decode", us=50.0)]))
        self.assertEqual(version, VERSION)
        self.assertEqual(times, {key_of(shape_of(NAME)): {"cascade": 20.0, "decode": 50.0}})

    def test_a_wrong_kernel_is_named_and_left_out(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            _, times = their_us("\n".join([json.dumps(VERSION), line("cascade", failed="error 0.5")]))
        self.assertEqual(times, {})
        self.assertIn("cascade of x: error 0.5", said.getvalue())

    def test_the_fastest_median_counts(self):
        rounds = [{"cascade": us, "decode": 30.0} for us in (20.0, 90.0, 25.0)]
        record = record_of(NAME, VERSION, [10.0, 12.0, 50.0], rounds)
        self.assertEqual((record["flashinfer_fastest"], record["flashinfer_median_us"]["cascade"]), ("cascade", 25.0))
        self.assertEqual((record["ours_median_us"], record["ratio"]), (12.0, 0.48))

    def test_a_kernel_that_is_wrong_in_one_round_is_left_out(self):
        rounds = in_every_round([{"cascade": 20.0, "decode": 50.0}, {"decode": 40.0}, {"cascade": 22.0, "decode": 60.0}])
        self.assertEqual(record_of(NAME, VERSION, [10.0, 12.0, 50.0], rounds)["flashinfer_us"], {"decode": [50.0, 40.0, 60.0]})
        self.assertEqual(in_every_round([{"cascade": 20.0}, {}]), [{}, {}])


unittest.main()
