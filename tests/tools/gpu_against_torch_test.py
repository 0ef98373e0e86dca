#!/usr/bin/env python3
"""gpu_against_torch_test.py FOLDER: tests how tools/gpu_against_torch.py reads the benchmarks' names. Needs no
PyTorch."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "tools"))
from gpu_against_torch import shape_of  # noqa: E402  (the folder is an argument)


class Shapes(unittest.TestCase):
    def test_a_decode_step_has_a_query_of_each_sequence(self):
        shape = shape_of("attention/decode/llama-3-8b/heads:32/kv_heads:8/head_dim:128/rows:32/shared:4096/own:64/manual_time")
        self.assertEqual((shape.model, shape.heads, shape.kv_heads, shape.head_dim), ("llama-3-8b", 32, 8, 128))
        self.assertEqual((shape.sequences, shape.queries, shape.keys), (32, 1, 4160))

    def test_a_prefill_is_one_sequence(self):
        shape = shape_of("attention/prefill/llama-2-7b/heads:32/kv_heads:32/head_dim:128/rows:256/shared:2048/own:256")
        self.assertEqual((shape.sequences, shape.queries, shape.keys), (1, 256, 2304))

    def test_other_benchmarks_have_none(self):
        for name in ("norm/rows:32", "attention/decode/llama-2-7b/heads:32", "SharedDecode/1/32/32/128/4096/32"):
            self.assertIsNone(shape_of(name))


unittest.main()
