"""The plot script on small made-up records: files are drawn, torn and damaged records are met."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(sys.argv.pop(1), "reprise_plot.py")


def record(method, tokens, ttft_ms):
    requested = {"model": "models/a", "weights": "random", "dtype": "f32", "method": method, "threads": 2,
                 "isa": "avx2", "repetitions": 3, "prompt_tokens": tokens}
    metric = {"value": ttft_ms, "unit": "ms", "q1": ttft_ms * 0.9, "q3": ttft_ms * 1.1}
    return {"settings": {"requested": requested}, "metrics": {"ttft_ms": metric}, "seeds": {"prompts": 1},
            "machine": {"cpu": "made up"}, "provenance": {"revision": "0123456789abcdef", "dirty": False}}


def manifest(**plot):
    spec = {"family": "lines", "x": "prompt_tokens", "y": "ttft_ms", "series": "method", "name": "ttft_ms",
            "title": "A title", "log_x": True, "log_y": True}
    spec.update(plot)
    return {"settings": {"axes": {"prompt_tokens": [8, 16]}}, "axis_units": {"prompt_tokens": "tokens"},
            "caption": {"title": "A title", "paper": "P", "figure": "Figure 1", "note": "A note."},
            "plots": [spec]}


RECORDS = [record(method, tokens, tokens * factor)
           for method, factor in (("recompute", 1.0), ("contiguous", 0.5)) for tokens in (8, 16, 32)]


class PlotTest(unittest.TestCase):
    def draw(self, lines, run):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(self.folder.name, "run.json"), "w", encoding="utf-8") as file:
            json.dump(run, file)
        with open(os.path.join(self.folder.name, "records.jsonl"), "w", encoding="utf-8") as file:
            file.write(lines)
        return subprocess.run([sys.executable, SCRIPT, self.folder.name], capture_output=True, text=True,
                              check=False)

    def figure(self, name):
        with open(os.path.join(self.folder.name, "figures", name), "rb") as file:
            return file.read()

    def test_draws_pdf_and_png(self):
        done = self.draw("".join(json.dumps(r) + "\n" for r in RECORDS), manifest())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("ttft_ms.pdf").startswith(b"%PDF"))
        png = self.figure("ttft_ms.png")
        self.assertTrue(png.startswith(b"\x89PNG"))
        self.assertGreater(int.from_bytes(png[16:20], "big"), 1000)

    def test_draws_linear_axes(self):
        done = self.draw("".join(json.dumps(r) + "\n" for r in RECORDS), manifest(log_x=False, log_y=False))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_ignores_a_torn_last_line(self):
        done = self.draw(json.dumps(RECORDS[0]) + "\n" + '{"settings": {"req', manifest())
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_a_damaged_line(self):
        done = self.draw(json.dumps(RECORDS[0]) + "\n{damaged}\n", manifest())
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 2", done.stderr)

    def test_leaves_out_a_metric_nobody_took(self):
        done = self.draw(json.dumps(RECORDS[0]) + "\n", manifest(y="tpot_ms"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out", done.stderr)


if __name__ == "__main__":
    unittest.main()
