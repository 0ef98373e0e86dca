#!/usr/bin/env python3
"""columns_test.py TREE PROGRAM: tests that python/reprise reads records as the program does: its columns have the names and
values of `reprise export --format csv`."""
import csv
import gzip
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, TREE = sys.argv.pop(2), pathlib.Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(TREE / "python"), str(TREE / "tests/app/report")]
import made_results  # noqa: E402  (in another folder of the tree)
from reprise import columns, record_reader  # noqa: E402  (in another folder of the tree)

MEASUREMENTS = TREE / "results/measurements"
SEED = 20261126


def exported(source, *more):
    """Returns the columns of `reprise export`, {name: texts}."""
    done = subprocess.run([PROGRAM, "export", source, *more], capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode(errors="replace"))
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    if len(set(rows[0])) != len(rows[0]):
        raise AssertionError(f"{source}: a column occurs twice")
    return dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))


def read(source, metrics=None):
    return columns.table_of([(source, record_reader.points_of(source))], metrics)


class SameAsExport(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_same_value(self, value, text, where):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.assertEqual(float(text), float(value), where)
        else:
            # The CSV writes "" for what a row does not have, and "null" for a setting that is null.
            self.assertIn(text, ("", "null") if value is None else (columns.text_of(value),), where)

    def assert_same(self, source, metrics=None):
        theirs = exported(source, *(["--metrics", ",".join(metrics)] if metrics else []))
        ours = read(source, metrics)
        papers = {name for name in theirs if " " in name}   # "latency_us A100": a paper's number, which records do not hold
        # For a file of records the program adds the shipped experiment's metrics: percentiles, and some that no record has.
        shipped = {name for name, texts in theirs.items() if not any(texts)}
        if pathlib.Path(source).is_file() and not metrics:
            shipped |= {name for name in theirs if re.search(r"\.p\d", name)}
        self.assertEqual(set(theirs) - papers - shipped - set(ours), set(), f"{source}: missing")
        added = {name for name in ours if name.endswith(("_low", "_high", "_unit"))} | set(columns.FACTS)
        self.assertEqual(set(ours) - set(theirs) - added, set(), f"{source}: the program does not know them")
        for name in set(theirs) & set(ours):
            self.assertEqual(len(theirs[name]), len(ours[name]), source)
            for row, (text, value) in enumerate(zip(theirs[name], ours[name])):
                where = f"{source}, row {row}, column {name}"
                if name == "noisy":   # the program has the order of the experiment's metrics
                    self.assertEqual(sorted(text.split()), sorted(value.split()), where)
                else:
                    self.assert_same_value(value, text, where)
        return ours

    def test_committed_records(self):
        files = sorted(set(MEASUREMENTS.glob("*.jsonl.gz")) - set(MEASUREMENTS.glob("cuda_*")))   # cuda_*: no records of runs
        self.assertGreater(len(files), 50)
        for file in files:
            with self.subTest(file=file.name):
                self.assert_same(file)

    def test_a_negative_median_is_noisy_by_its_size(self):
        for samples, is_noisy in (([-10, -10.5, -11], False), ([-10, -12, -40], True)):
            self.assertEqual(columns.is_noisy({"loss": made_results.metric(samples, "ratio")}, "loss"), is_noisy)

    def test_percentiles_and_their_intervals(self):
        ours = self.assert_same(MEASUREMENTS / "cpu_serving_tree_desk.jsonl.gz",
                                ["ttft_ms", "ttft_ms.p90", "ttft_ms.p99", "itl_ms.p99", "throughput_rps"])
        self.assertEqual(ours["ttft_ms.p99"][0], None)   # too few samples
        self.assertLess(ours["ttft_ms.p90_low"][0], ours["ttft_ms.p90"][0])
        self.assertLess(ours["ttft_ms_low"][0], ours["ttft_ms"][0])
        self.assertEqual(ours["ttft_ms.p90_unit"][0], "ms")

    def test_a_folder_with_invalid_runs(self):
        ours = self.assert_same(made_results.serving_folder(self.folder / "made"))
        self.assertIn("INVALID: the queue only grew", ours["warnings"])
        self.assertEqual(set(ours["verdict"]), {"VALID", "INVALID"})

    def test_a_speedup_over_an_invalid_run_has_a_warning(self):
        ours = self.assert_same(made_results.speedup_folder(self.folder / "made"))
        self.assertEqual(ours["warnings"], ["", "", "INVALID: the queue only grew", "INVALID throughput_speedup: the first "
                                            "method's run is INVALID: the queue only grew"])

    def test_awkward_texts_and_numbers(self):
        draw = random.Random(SEED)
        texts = ["a,b", "\"", "\u2028", "ä; b", "null", "true", "", " ", "x" * 300, "1e5"]
        numbers = [0, -0.0, 5e-324, 1e18, 0.1 + 0.2, 2**53 + 1, 1e15 / 3, 123456789012]
        those = []
        for index in range(30):
            metrics = {f"m{metric}": {"value": abs(draw.choice(numbers)), "unit": draw.choice(["x", "tokens"])}
                       for metric in range(draw.randrange(1, 4))}
            samples = sorted(draw.lognormvariate(0, draw.choice([0.01, 2])) for _ in range(draw.randrange(1, 9)))
            metrics["t_ms"] = made_results.metric(samples, "ms", **draw.choice([{}, {"population": True}]))
            if draw.random() < 0.3:
                metrics["t_ms"]["disturbed"] = {"count": 1, "of": len(samples)}
            metrics["unexplained"] = {"value": draw.choice([0, 3]), "unit": "generations"}
            metrics["generations"] = {"value": 7, "unit": "generations"}
            those.append(made_results.record(
                f"{index:016x}", 0, 1,
                {"method": "paged", "method_options": draw.choice([{}, {"block_tokens": 2}]), "rate_rps": float(index),
                 "workload": {"name": draw.choice(texts), "deep": {"er": [1, "a", {}]}},
                 "odd": draw.choice([*texts, *numbers, None, True, [], [None]])},
                metrics, {"t_ms": samples}, answers=draw.choice([{}, {"verdict": "INVALID"}, {"verdict": "VALID"}])))
            those[-1]["settings"]["resolved"] = draw.choice([{}, {"method_label": "vLLM, \"paged\""}, {"method_label": ""}])
            those[-1]["provenance"] |= draw.choice([{}, {"dirty": True, "changes": "ab12"}])
        run = made_results.manifest({"rate_rps": [float(index) for index in range(30)]}, ["paged"], ["t_ms"])
        with self.subTest(seed=SEED):
            self.assert_same(made_results.write_folder(self.folder / "awkward", run, those))

    def test_labels_are_those_of_the_folder(self):
        those = [made_results.record(f"{index:016x}", 0, 1, {"method": method, "rate_rps": float(index)},
                                     {"t_ms": {"value": 1.0, "unit": "ms"}})
                 for index, method in enumerate(("paged", "paged", "auto"))]
        for one, label in zip(those, ("old", "new", "gone")):
            one["settings"]["resolved"]["method_label"] = label
        run = made_results.manifest({"rate_rps": [0.0, 1.0, 2.0]}, ["paged", "auto"], ["t_ms"], labels=["new", ""])
        ours = self.assert_same(made_results.write_folder(self.folder / "labels", run, those))
        self.assertEqual(ours["label"], ["new", "new", "auto"])

    def test_what_a_run_is_still_writing_is_left_out(self):
        folder = pathlib.Path(made_results.serving_folder(self.folder / "made"))
        whole = (folder / "records.jsonl").read_text(encoding="utf-8")
        lines = whole.splitlines(keepends=True)
        for kept, text in ((6, "".join(lines[:7])), (6, "".join(lines[:7]) + lines[7][:40]), (8, whole),
                           (6, "".join(lines[:7]) + "{\"torn\n")):
            (folder / "records.jsonl").write_text(text, encoding="utf-8")
            self.assertEqual(len(self.assert_same(folder)["point"]), kept)

    def test_files_of_several_writers_are_one_source_with_each_point_once(self):
        folder = pathlib.Path(made_results.serving_folder(self.folder / "made"))
        text = (folder / "records.jsonl").read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        (folder / "records.jsonl").unlink()
        (folder / "records-1of2.jsonl").write_text("".join(lines[:4]), encoding="utf-8")
        (folder / "records-2of2.jsonl.gz").write_bytes(gzip.compress("".join(lines[2:]).encode()))
        self.assertEqual(len(self.assert_same(folder)["point"]), 8)

    def test_a_backup_is_no_file_of_the_run(self):
        folder = pathlib.Path(made_results.serving_folder(self.folder / "made"))
        before = self.assert_same(folder)["ttft_ms"]
        slower = pathlib.Path(made_results.serving_folder(self.folder / "slower", slower=2.0))
        for name in ("records.bak.jsonl", "records.0.jsonl", "records_old.jsonl", "records.jsonl.bak"):
            (folder / name).write_bytes((slower / "records.jsonl").read_bytes())
        self.assertEqual(self.assert_same(folder)["ttft_ms"], before)

    def test_records_of_other_settings_are_refused_as_by_the_program(self):
        folder = pathlib.Path(made_results.serving_folder(self.folder / "made"))
        lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        others = "".join(lines[6:]).replace(run["config_hash"], "1" * 16)
        (folder / "records.jsonl").write_text("".join(lines[:6]), encoding="utf-8")
        (folder / "records-2of2.jsonl").write_text(others, encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "records-2of2.jsonl has records of other settings.*Move the file out") as ours:
            read(folder)
        with self.assertRaises(AssertionError) as theirs:
            exported(folder)
        self.assertIn(str(ours.exception), str(theirs.exception))
        (folder / "run.json").write_text(json.dumps(run | {"config_hash": ""}), encoding="utf-8")   # as in older folders
        self.assertEqual(len(self.assert_same(folder)["point"]), 8)

    def test_what_is_no_record_is_an_error_that_names_the_file(self):
        def refused(path, *words):
            with self.assertRaisesRegex((ValueError, OSError), ".*".join(words)):
                record_reader.points_of(path)
        (self.folder / "empty").mkdir()
        refused(self.folder / "empty", "empty holds no records.jsonl", "reprise run")
        refused(self.folder / "absent", "absent")
        refused(MEASUREMENTS / "cuda_resources.jsonl.gz", "cuda_resources", "record 1 has no \"experiment\"")
        (self.folder / "list.jsonl").write_text("[]\n", encoding="utf-8")
        refused(self.folder / "list.jsonl", "list.jsonl: record 1 is no JSON object")
        (self.folder / "none.jsonl").write_text("", encoding="utf-8")
        refused(self.folder / "none.jsonl", "none.jsonl holds no complete record")

    def test_an_unknown_metric_is_an_error_that_names_the_known_ones(self):
        for name in ("ttft_ms.p42", "ttft_ms."):
            with self.assertRaisesRegex(ValueError, f"\"{name}\" names no percentile; there are: p50, p90"):
                read(MEASUREMENTS / "cpu_quickstart.jsonl.gz", [name])
        with self.assertRaisesRegex(ValueError, "no record has a metric \"ttfd_ms\"; there are: .*ttft_ms"):
            read(MEASUREMENTS / "cpu_quickstart.jsonl.gz", ["ttfd_ms"])


unittest.main()
