#!/usr/bin/env python3
"""export_test.py TREE [PROGRAM]: tests the files that python/reprise_export.py makes for other programs, and with a PROGRAM
that its `export` starts the script.

Parts are skipped without jsonschema (llm-d's schema), pyarrow (parquet) and compare.py of Google Benchmark (Debian's package
libbenchmark-tools, or REPRISE_COMPARE_PY names it; it needs SciPy)."""
import contextlib
import copy
import importlib.util
import io
import json
import math
import os
import pathlib
import pty
import random
import statistics
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(2) if len(sys.argv) > 2 and os.access(sys.argv[2], os.X_OK) else None
TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(TREE / "python"), str(TREE / "tests/app/report")]
import made_results  # noqa: E402  (in another folder of the tree)
from reprise import columns, record_reader  # noqa: E402
from reprise.formats import bmf, google_benchmark, llm_d, points, vllm  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MEASUREMENTS = TREE / "results/measurements"
QUICKSTART, SERVING = (MEASUREMENTS / f"{name}.jsonl.gz" for name in ("cpu_quickstart", "cpu_serving_tree_desk"))
COMPARE = pathlib.Path(os.environ.get("REPRISE_COMPARE_PY", "/usr/share/benchmark/compare.py"))
SEED = 20261126
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def has(library):
    return importlib.util.find_spec(library) is not None


def skip_without(library):
    return unittest.skipUnless(has(library), f"no {library}: python3 -m pip install {library}")


def committed():
    """Returns the committed files of runs' records."""
    return sorted(set(MEASUREMENTS.glob("*.jsonl.gz")) - set(MEASUREMENTS.glob("cuda_*")))


def serving_records():
    """Returns all committed records of kind serving."""
    return [record for file in committed() for record in record_reader.points_of(file)
            if record["experiment"]["kind"] == "serving"]


def exported(source, form, *more, **environment):
    """Runs the script and returns what it printed. Raises AssertionError with its message if it fails."""
    done = run(source, form, *more, **environment)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return done.stdout


def run(source, form, *more, stdout=subprocess.PIPE, **environment):
    return subprocess.run([sys.executable, TREE / "python/reprise_export.py", source, f"--format={form}", *more],
                          stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=120, env=os.environ | environment)


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for entry in value for number in numbers_in(entry)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Names(unittest.TestCase):
    def test_each_point_has_a_name_of_its_own(self):
        for file in committed():
            records = record_reader.points_of(file)
            names = points.point_names(records)
            self.assertEqual(len(set(names)), len(records), file)
            self.assertLess(max(map(len, names)), 1024, "Bencher takes at most 1024 characters")

    def test_names_hold_what_differs(self):
        records = record_reader.points_of(QUICKSTART)
        self.assertIn("quickstart/desk/prompt_tokens=16/contiguous", points.point_names(records))
        self.assertEqual(points.point_names(records[:1]), ["quickstart/desk/recompute"])
        twins = [copy.deepcopy(records[0]) for _ in range(2)]
        twins[1]["settings"]["requested"]["method_options"] = {"block_tokens": 4}
        self.assertEqual(points.point_names(twins)[1], "quickstart/desk/method_options.block_tokens=4/recompute")
        same = [records[0], records[0] | {"point": "other"}]
        self.assertEqual(points.point_names(same)[1], "quickstart/desk/recompute/other")


class Bmf(WithFolder):
    def test_values_and_bounds_are_the_records(self):
        with_bounds = 0
        for file in committed():
            records = record_reader.points_of(file)
            document = bmf.document(records, [], lambda _: None)
            by_name = dict(zip(points.point_names(records), records))
            for benchmark, measures in document.items():
                metrics = by_name[benchmark]["metrics"]
                left_out = {"throughput_speedup"} if columns.invalid_speedup(by_name[benchmark], records) else set()
                self.assertEqual(set(measures), set(metrics) - left_out, benchmark)
                for name, fields in measures.items():
                    self.assertLessEqual(len(name), 64)
                    self.assertLessEqual(set(fields), {"value", "lower_value", "upper_value"})
                    self.assertEqual(fields["value"], metrics[name]["value"])
                    if "lower_value" in fields:
                        with_bounds += 1
                        self.assertLessEqual(fields["lower_value"], fields["value"])
                        self.assertLessEqual(fields["value"], fields["upper_value"])
        self.assertGreater(with_bounds, 100)

    def test_chosen_metrics_and_percentiles(self):
        document = json.loads(exported(SERVING, "bmf", "--metrics=ttft_ms.p90,throughput_rps"))
        for measures in document.values():
            self.assertEqual(set(measures), {"ttft_ms.p90", "throughput_rps"})
            self.assertEqual(set(measures["ttft_ms.p90"]), {"value", "lower_value", "upper_value"})
            self.assertEqual(set(measures["throughput_rps"]), {"value"})

    def test_invalid_runs_are_left_out_and_named(self):
        done = run(made_results.serving_folder(self.folder / "made"), "bmf")
        document = json.loads(done.stdout)
        self.assertIn("made/desk/rate_rps=2.0/paged", document)
        self.assertNotIn("made/desk/rate_rps=8.0/paged", document)
        self.assertIn("left out, because the run is INVALID: made/desk/rate_rps=8.0/paged (the queue only grew)",
                      done.stderr.decode())
        done = run(made_results.serving_folder(self.folder / "none", rates=[100.0]), "bmf")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn("every run is INVALID", done.stderr.decode())


    def test_a_speedup_over_an_invalid_run_is_left_out_and_named(self):
        done = run(made_results.speedup_folder(self.folder / "made"), "bmf")
        document = json.loads(done.stdout)
        self.assertIn("throughput_speedup", document["made/desk/rate_rps=2.0/relay_attention"])
        refused = "made/desk/rate_rps=8.0/relay_attention"
        self.assertNotIn("throughput_speedup", document[refused])
        self.assertIn("ttft_ms", document[refused])
        self.assertIn(f"left out throughput_speedup of {refused}: the first method's run is INVALID: the queue only grew",
                      done.stderr.decode())


class GoogleBenchmark(WithFolder):
    def test_entries_are_the_samples_and_their_aggregates(self):
        for file in committed():
            records = record_reader.points_of(file)
            try:
                document = google_benchmark.document(records, [], lambda _: None)
            except ValueError as error:
                self.assertIn("takes metrics that are times", str(error))
                continue
            self.assertEqual(document["context"]["json_schema_version"], 1)
            by_name = {}
            for entry in document["benchmarks"]:
                self.assertLessEqual({"name", "run_name", "run_type", "repetitions", "real_time", "cpu_time", "time_unit"},
                                     set(entry))
                by_name.setdefault(entry["run_name"], []).append(entry)
            expected = 0
            for point, record in zip(points.point_names(records), records):
                for name, metric in record["metrics"].items():
                    if metric["unit"] in NANOSECONDS and not columns.invalid_reason(record):
                        expected += 1
                        self.assert_entries(by_name[f"{point}/{name}"], metric, record["samples"].get(name, []))
            self.assertEqual(len(by_name), expected)

    def assert_entries(self, entries, metric, samples):
        scale = NANOSECONDS[metric["unit"]]
        runs = [entry["real_time"] for entry in entries if entry["run_type"] == "iteration"]
        aggregates = {entry["aggregate_name"]: entry["real_time"] for entry in entries if entry["run_type"] == "aggregate"}
        self.assertEqual({entry["time_unit"] for entry in entries}, {"ns"})
        self.assertEqual({entry["repetitions"] for entry in entries}, {len(samples) or 1})
        if metric.get("population"):
            self.assertEqual(runs, [])
        else:
            self.assertEqual(runs, [sample * scale for sample in samples or [metric["value"]]])
        if samples:
            self.assertAlmostEqual(aggregates["mean"], statistics.fmean(samples) * scale)
            self.assertEqual(aggregates["median"], metric["value"] * scale)
        self.assertEqual("stddev" in aggregates, len(samples) > 1)
        if len(samples) > 1:
            self.assertAlmostEqual(aggregates["stddev"], statistics.stdev(samples) * scale)

    @unittest.skipUnless(COMPARE.exists() and has("scipy"),
                         f"no {COMPARE} (Debian: libbenchmark-tools, or set REPRISE_COMPARE_PY), or no SciPy for it")
    def test_compare_py_reads_them(self):
        slower = record_reader.points_of(QUICKSTART)
        for record in slower:
            record["samples"]["ttft_ms"] = [3 * sample for sample in record["samples"]["ttft_ms"]]
        paths = [self.folder / name for name in ("before.json", "after.json")]
        for path, records in zip(paths, (record_reader.points_of(QUICKSTART), slower)):
            path.write_text(json.dumps(google_benchmark.document(records, ["ttft_ms"], print)), encoding="utf-8")
        done = subprocess.run([sys.executable, COMPARE, "--no-color", "benchmarks", *paths], capture_output=True, text=True,
                              check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith("quickstart/desk/prompt_tokens=16/recompute/")]
        changes = [row[1] for row in rows if row[0].endswith(("ttft_ms", "ttft_ms_mean"))]
        self.assertEqual(set(changes), {"+2.0000"})
        self.assertEqual(len(changes), 6)   # five repetitions and their mean

    def test_a_metric_that_is_no_time_is_named(self):
        for asked, named in (("kv_mb,compute_limit_ratio", "kv_mb, compute_limit_ratio."), ("ttft_ms,kv_mb", "not: kv_mb."),
                             ("ttft_ms,ttft_ms.p50", "not: ttft_ms.p50.")):
            done = run(QUICKSTART, "google-benchmark", f"--metrics={asked}")
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(named, done.stderr.decode())
            self.assertIn("--format bmf", done.stderr.decode())


class Vllm(unittest.TestCase):
    def test_numbers_agree_with_each_other_and_the_records(self):
        records = serving_records()
        self.assertGreater(len(records), 100)
        for record, result in zip(records, vllm.documents(records)):
            with self.subTest(point=record["point"]):
                self.assertEqual(result["completed"] + result["failed"], result["num_prompts"])
                self.assertTrue(math.isclose(result["request_throughput"], result["completed"] / result["duration"]) or
                                record["settings"]["requested"]["repetitions"] > 1)
                self.assertAlmostEqual(result["output_throughput"], result["total_output_tokens"] / result["duration"])
                if "generated_tokens" in record["answers"]:
                    self.assertEqual(result["total_output_tokens"], record["answers"]["generated_tokens"])
                for name, metric in vllm.LATENCIES.items():
                    self.assertEqual(result.get(f"median_{name}_ms"), record["metrics"].get(metric, {}).get("value"))
                    if samples := record["samples"].get(metric):
                        self.assertAlmostEqual(result[f"mean_{name}_ms"], statistics.fmean(samples))
                    else:
                        self.assertNotIn(f"mean_{name}_ms", result)
                self.assertEqual(result["verdict"], record["answers"]["verdict"])
                self.assertEqual([round(1000 * seconds, 6) for seconds in result.get("ttfts", [])],
                                 [round(sample, 6) for sample in record["samples"].get("ttft_ms", [])])

    def test_a_line_for_each_point(self):
        lines = exported(SERVING, "vllm").decode().splitlines()
        self.assertEqual([json.loads(line)["point"] for line in lines],
                         [record["point"] for record in record_reader.points_of(SERVING)])

    def test_rates_of_arrivals(self):
        record = record_reader.points_of(SERVING)[0]
        for asked, expected in (
                ({"arrivals": "closed", "most_in_flight": 7}, {"request_rate": "inf", "max_concurrency": 7}),
                ({"arrivals": "poisson", "rate_rps": 2.5}, {"request_rate": 2.5, "burstiness": 1.0, "max_concurrency": None}),
                ({"arrivals": "gamma", "rate_rps": 2.5, "cv": 2.0}, {"request_rate": 2.5, "burstiness": 0.25}),
                ({"arrivals": "trace", "rate_rps": 0.0}, {"request_rate": None, "burstiness": None}),
                ({"arrivals": "ramp", "rate_rps": 2.0}, {"request_rate": None, "burstiness": None}),
                ({"arrivals": "poisson", "rate_rps": 2.0, "search": "highest_rate"}, {"request_rate": None})):
            record["settings"]["requested"] |= {"search": "one_rate", "cv": 1.0} | asked
            result = vllm.result(record)
            self.assertEqual({key: result.get(key) for key in expected}, expected)

    def test_a_server_that_load_asked(self):
        record = record_reader.points_of(SERVING)[0]
        record["settings"]["resolved"]["server"] = {"model": "theirs", "owner": "", "version": "b42", "url": "http://x"}
        self.assertEqual((vllm.result(record)["model_id"], vllm.result(record)["backend"]), ("theirs", "openai"))
        engine = llm_d.report(record)["scenario"]["stack"][0]["standardized"]
        self.assertEqual((engine["kind"], engine["tool"], engine["tool_version"]), ("generic", "unknown", "b42"))

    def test_other_kinds_are_refused_by_name(self):
        for form in ("vllm", "llm-d"):
            done = run(QUICKSTART, form)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            for word in (form, "kind \"serving\"", "kind \"ttft\"", "--format bmf"):
                self.assertIn(word, done.stderr.decode())


class LlmD(WithFolder):
    # The units that the format's own reader demands beside the schema's.
    UNITS = {"input_length": ["count"], "output_length": ["count"], "time_to_first_token": ["ms", "s"],
             "request_latency": ["ms", "s"], "time_per_output_token": ["ms/token", "s/token"],
             "normalized_time_per_output_token": ["ms/token", "s/token"], "input_token_rate": ["tokens/s"],
             "output_token_rate": ["tokens/s"], "total_token_rate": ["tokens/s"], "request_rate": ["queries/s"]}

    def faults(self, documents):
        import jsonschema
        schema = json.loads((HERE / "llm_d_report_0_2.schema.json").read_text(encoding="utf-8"))
        validator = jsonschema.Draft202012Validator(schema)
        return [f"{list(error.path)}: {error.message}" for document in documents for error in validator.iter_errors(document)]

    @skip_without("jsonschema")
    def test_reports_are_of_the_schema(self):
        documents = llm_d.documents(serving_records())
        self.assertEqual(self.faults(documents), [])
        for document in documents:
            for part in document["results"]["request_performance"]["aggregate"].values():
                for name, field in part.items():
                    if isinstance(field, dict):
                        self.assertIn(field["units"], self.UNITS[name], name)

    @skip_without("jsonschema")
    def test_the_schema_refuses_what_is_wrong(self):
        document = llm_d.report(record_reader.points_of(SERVING)[0])
        for path, value in (("run", {}), ("surprise", 1), ("results.request_performance.aggregate.requests.total", 1.5),
                            ("results.request_performance.aggregate.latency.request_latency.units", "hours"),
                            ("results.request_performance.aggregate.latency.request_latency.mean", None)):
            wrong = place = copy.deepcopy(document)
            *parents, last = path.split(".")
            for parent in parents:
                place = place[parent]
            place[last] = value
            self.assertNotEqual(self.faults([wrong]), [], path)

    def test_statistics_are_the_records(self):
        record = record_reader.points_of(SERVING)[0]
        document = llm_d.report(record)
        found = document["results"]["request_performance"]["aggregate"]
        metric = record["metrics"]["ttft_ms"]
        self.assertEqual({key: found["latency"]["time_to_first_token"].get(key) for key in ("p50", "p25", "p90", "p99", "max")},
                         {"p50": metric["value"], "p25": metric["q1"], "p90": metric["p90"], "p99": None, "max": metric["max"]})
        self.assertNotIn("inter_token_latency", found["latency"])   # its statistics need a mean
        asked = record["settings"]["requested"]   # a closed loop in which each request was served
        self.assertEqual(found["requests"]["input_length"]["mean"],
                         record["metrics"]["prompt_tokens_total"]["value"] / asked["requests"])
        self.assertEqual(document["scenario"]["load"]["standardized"]["concurrency"], asked["most_in_flight"])
        self.assertEqual(document["scenario"]["stack"][0]["standardized"]["accelerator"]["count"], 0)
        record["machine"]["device"] = {"name": "GPU"}
        self.assertEqual(llm_d.report(record)["scenario"]["stack"][0]["standardized"]["accelerator"],
                         {"model": "GPU", "count": 1, "parallelism": {"tp": 1}})

    def test_times_of_a_group_are_not_those_of_one_method(self):
        record = record_reader.points_of(SERVING)[0]
        self.assertGreater(record["group"]["of"], 1)
        self.assertEqual(set(llm_d.report(record)["run"]["time"]), {"duration"})
        record["group"]["of"] = 1
        self.assertEqual(set(llm_d.report(record)["run"]["time"]), {"start", "end", "duration"})

    def test_where_tokens_come_from(self):
        for workload, source in (({"name": "grid"}, "random"), ({"name": "sharegpt", "file": "a/lengths.csv"}, "random"),
                                 ({"name": "sharegpt", "file": "a.json"}, "sampled"), ({"name": "mmlu"}, "sampled"),
                                 ({"name": "system_prompts"}, "unknown"), ({}, "unknown")):
            self.assertEqual(llm_d.token_source(workload), source)

    def test_an_invalid_run_says_so(self):
        record = record_reader.points_of(SERVING)[0]
        record["answers"] = {"verdict": "INVALID", "reasons": ["too short"]}
        self.assertIn("[INVALID: too short]", llm_d.report(record)["run"]["description"])

    def test_several_points_go_to_a_folder(self):
        done = run(SERVING, "llm-d")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn("has 10 points, and a benchmark report is about one: give --out FOLDER", done.stderr.decode())
        exported(SERVING, "llm-d", f"--out={self.folder / 'new' / 'reports'}")
        files = sorted((self.folder / "new/reports").iterdir())
        self.assertEqual([json.loads(file.read_text(encoding="utf-8"))["version"] for file in files], ["0.2"] * 10)
        self.assertTrue(all(file.match("benchmark_report_v0.2,_*.yaml") for file in files), files)
        uids = {json.loads(file.read_text(encoding="utf-8"))["run"]["uid"] for file in files}
        self.assertEqual(len(uids), len(record_reader.points_of(SERVING)))

    def test_one_point_goes_to_standard_output(self):
        lines = record_reader.lines_of(record_reader.read_text(SERVING))
        record = json.loads(lines[1]) | {"group": {"id": "0", "index": 0, "of": 1}}
        path = self.folder / "one.jsonl"
        path.write_text(lines[0] + "\n" + json.dumps(record) + "\n", encoding="utf-8")
        self.assertEqual(json.loads(exported(path, "llm-d")), llm_d.report(record_reader.points_of(path)[0]))


class AwkwardRecords(unittest.TestCase):
    def test_what_a_record_lacks_is_left_out(self):
        """Removes random metrics, samples, answers and facts from serving records."""
        draw, records = random.Random(SEED), []
        for record in draw.sample(serving_records(), 40):
            record = copy.deepcopy(record)
            for part in ("metrics", "samples", "answers", "machine", "provenance"):
                for key in draw.sample(sorted(record[part]), draw.randrange(len(record[part]) + 1)):
                    del record[part][key]
            for key in ("arrivals", "workload", "output_tokens", "most_in_flight"):
                if draw.random() < 0.3:
                    record["settings"]["requested"].pop(key, None)
            if draw.random() < 0.3:
                del record["started_at"], record["ended_at"]
            records.append(record)
        found = {"vllm": vllm.documents(records), "llm-d": llm_d.documents(records)}
        metrics = columns.metric_names(records)
        silent = io.StringIO()
        found["bmf"] = bmf.document(records, [], lambda sentence: print(sentence, file=silent))
        with contextlib.suppress(ValueError):
            found["google-benchmark"] = google_benchmark.document(records, metrics, lambda _: None)
        with self.subTest(seed=SEED):
            json.dumps(found, allow_nan=False)
            self.assertTrue(all(math.isfinite(number) for number in numbers_in(found)))
            if has("jsonschema"):
                self.assertEqual(LlmD().faults(found["llm-d"]), [])


class Parquet(WithFolder):
    @skip_without("pyarrow")
    def test_columns_are_those_of_the_csv(self):
        from pyarrow import parquet
        path = self.folder / "points.parquet"
        exported(SERVING, "parquet", f"--out={path}")
        table = columns.table_of([(SERVING, record_reader.points_of(SERVING))])
        found = parquet.read_table(path)
        self.assertEqual(found.column_names, list(table))
        for name in ("label", "point", "ttft_ms", "ttft_ms_low", "threads", "seeds.prompts", "verdict"):
            self.assertEqual(found[name].to_pylist(), table[name])
        self.assertEqual(exported(SERVING, "parquet"), path.read_bytes())
        one = parquet.read_table(io.BytesIO(exported(SERVING, "parquet", "--metrics=ttft_ms")))
        self.assertNotIn("tpot_ms", one.column_names)

    def test_a_terminal_gets_no_binary(self):
        control, terminal = pty.openpty()
        done = run(SERVING, "parquet", stdout=terminal)
        os.close(terminal)
        os.close(control)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output is a terminal: give --out FILE", done.stderr.decode())

    def test_a_python_without_pyarrow_names_it_and_the_remedy(self):
        (self.folder / "pyarrow.py").write_text("raise ImportError('as if it were not installed')\n", encoding="utf-8")
        done = run(SERVING, "parquet", PYTHONPATH=str(self.folder))
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn("needs pyarrow", done.stderr.decode())
        self.assertIn("python3 -m pip install pyarrow", done.stderr.decode())


class Script(WithFolder):
    def assert_refused(self, done, *words):
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 1, text)
        self.assertNotIn("Traceback", text)
        for word in words:
            self.assertIn(word, text)

    def test_metrics(self):
        self.assert_refused(run(SERVING, "bmf", "--metrics=tft_ms"), "\"tft_ms\"", "ttft_ms")
        for form in ("bmf", "google-benchmark"):
            self.assert_refused(run(QUICKSTART, form, "--metrics=ttft_ms,tpot_ms,ttft_ms"), "name ttft_ms twice")
            self.assertEqual(exported(QUICKSTART, form, "--metrics=all"), exported(QUICKSTART, form))
        for metrics in ("ttft_ms", "all"):
            self.assert_refused(run(SERVING, "vllm", f"--metrics={metrics}"), "--metrics", "leave it out")

    def test_files_that_cannot_be_read_or_written(self):
        self.assert_refused(run(self.folder / "absent", "bmf"), "absent")
        self.assert_refused(run(self.folder, "bmf"), "holds no records.jsonl", "reprise run")
        self.assert_refused(run(SERVING, "bmf", f"--out={self.folder}/no/such/file"),
                            f"writing {self.folder}/no/such/file failed: No such file or directory", "may you write there?")
        damaged = self.folder / "records.jsonl.gz"
        damaged.write_bytes(SERVING.read_bytes()[:-9])
        self.assert_refused(run(damaged, "bmf"), "records.jsonl.gz is cut short")

    def test_a_file_is_whole_or_as_before(self):
        path = self.folder / "out.json"
        path.write_text("before", encoding="utf-8")
        self.assert_refused(run(QUICKSTART, "vllm", f"--out={path}"))
        self.assertEqual(path.read_text(encoding="utf-8"), "before")
        exported(QUICKSTART, "bmf", f"--out={path}")
        self.assertEqual(path.read_bytes(), exported(QUICKSTART, "bmf"))
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_links_are_followed_to_a_file_or_to_standard_output(self):
        path, link = self.folder / "out.json", self.folder / "link"
        path.write_text("before", encoding="utf-8")
        path.chmod(0o604)
        link.symlink_to("out.json")
        text = exported(QUICKSTART, "bmf")
        exported(QUICKSTART, "bmf", f"--out={link}")
        self.assertEqual((path.read_bytes(), path.stat().st_mode & 0o777), (text, 0o604))
        link.unlink()
        link.symlink_to("/proc/self/fd/1")   # a link of its own: a failure must not replace the machine's /dev/stdout
        with open(path, "wb") as out:
            out.write(b"first\n")
            out.flush()
            self.assertEqual(run(QUICKSTART, "bmf", f"--out={link}", stdout=out).returncode, 0)
        self.assertEqual(path.read_bytes(), b"first\n" + text)
        self.assertTrue(link.is_symlink())

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            self.assert_refused(run(QUICKSTART, "bmf", stdout=full),
                                "writing standard output failed: No space left on device. Is there space")

        self.assert_refused(run(QUICKSTART, "bmf", "--out=/dev/full"), "writing /dev/full failed: No space left on device")

    def test_a_reader_that_has_gone_ends_it_silently(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = run(QUICKSTART, "bmf", stdout=writer)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (-13, b""))


@unittest.skipUnless(PROGRAM, "no program was given")
class Program(WithFolder):
    def reprise(self, *arguments, **environment):
        return subprocess.run([PROGRAM, "export", *arguments], capture_output=True, check=False, timeout=120,
                              env=os.environ | environment)

    def test_it_starts_the_script(self):
        for source, form, *more in ((QUICKSTART, "bmf", "--metrics=ttft_ms"), (QUICKSTART, "google-benchmark"),
                                    (SERVING, "vllm")):
            done = self.reprise(source, "--format", form, *more)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertEqual(done.stdout, exported(source, form, *more))
        self.assertEqual(self.reprise(SERVING, "--format=llm-d", "--out", self.folder / "reports").returncode, 0)
        self.assertEqual(len(list((self.folder / "reports").iterdir())), len(record_reader.points_of(SERVING)))

    def test_its_own_formats_are_written_to_a_file(self):
        for form in ("csv", "json"):
            path = self.folder / form
            self.assertEqual(self.reprise(QUICKSTART, "--format", form, "--out", path).stdout, b"")
            self.assertEqual(path.read_bytes(), self.reprise(QUICKSTART, "--format", form).stdout)

    def test_errors(self):
        self.assertEqual(self.reprise(QUICKSTART, "--format=vllm").returncode, 1)
        unknown = self.reprise(QUICKSTART, "--format=vlm")
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("did you mean \"vllm\"", " ".join(unknown.stderr.decode().split()))
        (self.folder / "pyarrow.py").write_text("raise ImportError('as if it were not installed')\n", encoding="utf-8")
        missing = self.reprise(QUICKSTART, "--format=parquet", PYTHONPATH=str(self.folder), REPRISE_PYTHON="")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("python3 -m pip install pyarrow", " ".join(missing.stderr.decode().split()))


unittest.main()
