"""Tests best_ratio.py on made-up runs: it takes medians over runs and leaves out points of a single run."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)


def write_run(folder, ratios, method="auto"):
    os.makedirs(folder)
    with open(os.path.join(folder, "records.jsonl"), "w", encoding="utf-8") as out:
        for batch, ratio in ratios.items():
            record = {"settings": {"requested": {"method": method, "batch": batch, "heads": 32, "method_options": {}}},
                      "metrics": {"best_ratio": {"value": ratio, "unit": "ratio"}},
                      "machine": {"cpu": "made up"}, "provenance": {"revision": "0123", "dirty": False}}
            out.write(json.dumps(record) + "\n")


class BestRatio(unittest.TestCase):
    def run_script(self, runs, *options):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, str(i)) for i in range(len(runs))]
            for name, ratios in zip(names, runs):
                write_run(name, ratios)
            self.out = os.path.join(folder, "out.json")
            done = subprocess.run([sys.executable, SCRIPT, "--out", self.out, *options, *names], text=True,
                                  capture_output=True, check=False)
            if os.path.exists(self.out):
                with open(self.out, encoding="utf-8") as lines:
                    self.summary = json.load(lines)
            return done

    def test_counts_points_by_the_median_of_the_runs(self):
        done = self.run_script([{1: 0.90, 2: 0.99}, {1: 0.95, 2: 0.90, 4: 0.1}, {1: 1.0, 2: 1.0}])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("batch 1", done.stdout)
        self.assertIn("1 of 2 points below 0.97, by the median of 3 runs", done.stdout)
        self.assertEqual([(p["batch"], p["median"]) for p in self.summary["points"]], [(1, 0.95), (2, 0.99)])

    def test_none_behind_is_success(self):
        self.assertEqual(self.run_script([{1: 0.95, 2: 0.99}], "--least", "0.9").returncode, 0)

    def test_runs_without_the_method_are_an_error(self):
        done = self.run_script([{1: 1.0, 2: 1.0}], "--method", "paged")
        self.assertEqual(done.returncode, 2)
        self.assertIn("paged", done.stderr)

    def test_runs_without_a_common_point_are_an_error(self):
        done = self.run_script([{1: 1.0}, {2: 1.0}])
        self.assertEqual(done.returncode, 2)
        self.assertIn("no point in common", done.stderr)


if __name__ == "__main__":
    unittest.main()
