"""report_test.py PROGRAM: tests `reprise report` on folders of a real run and on made-up ones; the page is read
strictly."""
import os
import shlex
import shutil
import stat
import sys
import tempfile
import unittest

import made_results
from pages import HTML_SVG, NO_JINJA, NO_MATPLOTLIB, Reprise, has_jinja, has_matplotlib, python_with, python_without, skip

reprise = Reprise(sys.argv.pop(1))
NO_FIGURES = python_without("matplotlib")  # drawing takes a second, and most of these tests look at numbers


class Folders(unittest.TestCase):
    """Uses one smoke run for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.dir = cls.temporary.name
        cls.run_dir = reprise.run_quickstart(os.path.join(cls.dir, "run"))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.dir, name)

    def page(self, *results, **environment):
        page = reprise.report(*results, out=self.path("page.html"), **(environment or NO_FIGURES))
        self.assertEqual(page.faults(), [])
        return page

    def copy(self, name):
        target = self.path(name)
        shutil.rmtree(target, ignore_errors=True)
        return shutil.copytree(self.run_dir, target)

    def refused(self, *arguments):
        done = reprise("report", *arguments, **NO_FIGURES)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr


class Contents(Folders):
    def test_tells_points_metrics_and_whose_they_are(self):
        page = self.page(self.run_dir)
        rows = page.table("r1-metrics")
        self.assertEqual(len(rows), 4)  # two lengths, two methods
        headings = [heading for heading in page.headings("r1-metrics") if heading != "marks"]  # a busy machine adds it
        self.assertEqual(headings[:4], ["prompt_tokens", "method", "ttft_ms", "tpot_ms"])
        self.assertIn("kv_mb [MB]", page.headings("r1-metrics"))
        self.assertIn("Time to first token with and without a KV cache (quickstart)", page.words())
        for text in ("seeds", "prompts 1", "dram_read_gb_s", "code revision", "compiler", "4 points", "tokens_hash"):
            self.assertIn(text, page.words())
        self.assertNotIn("missing:", page.words())

    def test_records_alone_do_not_tell_what_was_planned(self):
        quiet = made_results.record("2/paged", 0, 1, {"rate_rps": 2.0, "requests": 5, "method": "paged"},
                                    {"ttft_ms": made_results.metric([10.0] * 5, "ms")})
        folder = made_results.write_folder(self.path("quiet"), made_results.manifest({"rate_rps": [2.0]}, ["paged"], ["ttft_ms"]),
                                           [quiet])
        self.assertIn("Every planned point is there", self.page(folder).words())
        alone = self.page(os.path.join(folder, "records.jsonl")).words()
        self.assertIn("Records alone do not tell which points were planned", alone)
        self.assertIn(quiet["config_hash"], alone)

    def test_says_what_metrics_mean(self):
        self.assertIn("What the metrics mean", self.page(self.run_dir).words())

    @unittest.skipUnless(has_matplotlib(), NO_MATPLOTLIB)
    def test_draws_the_experiments_figures_into_the_page(self):
        done = reprise("report", self.run_dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("report: " + self.path("run/report.html"), done.stderr)
        page = self.page(self.run_dir, self.copy("again"), PATH=os.environ["PATH"])
        figures = page.all(HTML_SVG + "svg")
        self.assertEqual(len(figures), 4)  # two per folder, with different ids
        for figure in figures:
            self.assertGreater(len(list(figure.iter())), 50)
            words = " ".join("".join(figure.itertext()).split())
            self.assertIn("length of the prompt", words)
            self.assertIn("recompute", words)

    def test_without_matplotlib_the_page_has_its_numbers_and_says_why(self):
        done = reprise("report", self.run_dir, "--out", self.path("page.html"), **NO_FIGURES)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("Install the package python3-matplotlib", done.stderr)
        words = self.page(self.run_dir).words()
        self.assertIn("They are not drawn: no python3 with matplotlib was found", words)
        self.assertEqual(len(self.page(self.run_dir).table("r1-metrics")), 4)

    @unittest.skipUnless(has_matplotlib(), NO_MATPLOTLIB)
    def test_a_plot_script_that_fails_costs_the_figures_alone(self):
        wrapper = self.path("python")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncase \"$1\" in *reprise_plot.py) printf 'one line\\nanother\\n' >&2; exit 1;; esac\n"
                       f"exec {shlex.quote(python_with('matplotlib', 'jinja2'))} \"$@\"\n")
        os.chmod(wrapper, 0o755)
        done = reprise("report", self.run_dir, "--out", self.path("page.html"), REPRISE_PYTHON=wrapper)
        self.assertEqual(done.returncode, 4, done.stderr)
        words = self.page(self.run_dir, REPRISE_PYTHON=wrapper).words()
        self.assertIn("They are not drawn:", words)
        self.assertIn("one line", words)

    def test_an_experiment_without_figures_misses_no_matplotlib(self):
        records = [made_results.record("1/p", 0, 1, {"method": "p", "batch": 1}, {"ttft_ms": {"value": 2.0, "unit": "ms"}})]
        folder = made_results.write_folder(self.path("plain"), made_results.manifest({"batch": [1]}, ["p"], ["ttft_ms"]),
                                           records)
        done = reprise("report", folder, "--out", self.path("page.html"), **NO_FIGURES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("They are not drawn", self.page(folder).words())

    def test_reads_records_alone(self):
        records = self.path("alone.jsonl")
        shutil.copy(os.path.join(self.run_dir, "records.jsonl"), records)
        done = reprise("report", records, **NO_FIGURES)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertTrue(os.path.exists(self.path("alone-report.html")))
        self.assertEqual(len(self.page(records).table("r1-metrics")), 4)

    def test_names_points_that_are_missing_or_torn(self):
        folder = self.copy("missing")
        with open(os.path.join(folder, "records.jsonl"), encoding="utf-8") as file:
            lines = file.readlines()
        with open(os.path.join(folder, "records.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(lines[:3])  # the run's entry and two points
            file.write(lines[3][:100])
        words = self.page(folder).words()
        self.assertIn("2 missing", words)
        self.assertIn("missing: models/quickstart f32 prompt_tokens=64: recompute, contiguous", words)
        self.assertIn("incomplete: 100 bytes", words)

    def test_counts_tries_that_lost_their_cores(self):
        made = made_results.record("1/p", 0, 1, {"method": "paged", "batch": 1}, {"ttft_ms": {"value": 1.0, "unit": "ms"}})
        made["core_use"] = {key: [1.0] * 3 for key in ("wall_ms", "cpu_ms", "waited_ms", "background_ms", "stolen_ms")}
        made["core_use"] |= {"involuntary_switches": [0] * 3, "disturbed": 1, "retaken": 7}
        run = made_results.manifest({"batch": [1]}, ["paged"], ["ttft_ms"])
        page = self.page(made_results.write_folder(self.path("disturbed"), run, [made]))
        self.assertIn("of 10 tries 7 were dropped; of the 3 that count 1 were disturbed", page.words())

    def test_tells_the_pauses_of_a_run_that_was_resumed(self):
        folder = self.copy("paused")
        run, records = made_results.read_folder(folder)
        for one in records[2:]:
            one["started_at"], one["ended_at"] = "2100-01-01T00:00:00.000Z", "2100-01-01T00:00:05.000Z"
        made_results.write_folder(folder, run, records)
        self.assertIn("1 of more than 5 min", self.page(folder).words())
        self.assertNotIn("of more than", self.page(self.run_dir).words())


class Tables(Folders):
    """Tests with one point that has more than its experiment asks for."""

    def point(self):
        metrics = {"step_ms": {"value": 10.1, "unit": "ms"}, "kv_mb": {"value": 4, "unit": "MB"},
                   "other_ms": {"value": 3, "unit": "ms", "p50": 3.0, "p99": 5.0, "too_few_for": ["p99.9"],
                                "intervals": {"p99": {"low": 4.0, "high": 6.0}}}}
        made = made_results.record("1/p", 0, 1, {"method": "paged", "batch": 1}, metrics)
        made["answers"] = {"verdict": "INVALID", "hash": "ab", "share": 0.25, "items": [1]}
        run = made_results.manifest({"batch": [1]}, ["paged"], ["step_ms", "kv_mb", "step_ms.p99"])
        return self.page(made_results.write_folder(self.path("one"), run, [made]))

    def test_the_experiments_metrics_come_first_and_the_others_on_demand(self):
        page = self.point()
        shown, extra = [], []
        for heading in page.root.find(".//table[@id='r1-metrics']/thead/tr"):
            (extra if "extra" in heading.get("class", "") else shown).append("".join(heading.itertext()))
        self.assertEqual(shown, ["method", "marks", "step_ms", "kv_mb [MB]"])
        self.assertEqual(extra, ["other_ms", "other_ms.p99"])
        self.assertIn("Every point. No record has step_ms.p99", page.words())
        self.assertEqual(page.table("r1-metrics"), [["paged", "INVALID", "10.1", "4", "3", "5 4.00 to 6.00"]])
        self.assertEqual([cell.get("data-v") for cell in page.root.find(".//table[@id='r1-metrics']/tbody/tr")],
                         [None, None, "10.1", "4", "3", "5"])

    def test_means_over_an_axis_follow_the_points(self):
        points = [made_results.record(f"{name}/p", 0, 1, {"method": "paged", "set": name},
                                      {"score": {"value": value, "unit": "points"}})
                  for name, value in (("sts12", 60.0), ("sts13", 63.0))]
        run = made_results.manifest({"set": ["sts12", "sts13"]}, ["paged"], ["score"])
        run["mean_over"] = "set"
        page = self.page(made_results.write_folder(self.path("means"), run, points))
        self.assertIn("Every point. The last rows are means over set", page.words())
        self.assertEqual(page.table("r1-metrics"),
                         [["sts12", "paged", "60"], ["sts13", "paged", "63"], ["mean", "paged", "61.5"]])

    def test_answers_are_texts_and_numbers(self):
        page = self.point()  # without the list of points
        self.assertEqual(page.headings("r1-answers"), ["method", "hash", "share", "verdict"])
        self.assertEqual(page.table("r1-answers"), [["paged", "ab", "0.250", "INVALID"]])


class Serving(Folders):
    def test_tells_verdicts_percentiles_and_their_reasons(self):
        page = self.page(made_results.serving_folder(self.path("serving")))
        rows = page.table("r1-refused")
        self.assertEqual([row[1:] for row in rows], [["INVALID", "the queue only grew"]] * 2)
        self.assertIn("6 of 8 judged runs are VALID", page.words())
        self.assertIn("2 INVALID", page.words())
        self.assertIn("marks", page.headings("r1-metrics"))
        self.assertIn("ttft_ms.p99", page.headings("r1-metrics"))
        # Requests differ from each other even without noise.
        self.assertNotIn("noisy (*)", page.words())

    def test_marks_a_speedup_over_an_invalid_run(self):
        page = self.page(made_results.speedup_folder(self.path("speedup")))
        self.assertEqual([row[1:] for row in page.table("r1-refused")],
                         [["INVALID", "the queue only grew"],
                          ["INVALID throughput_speedup", "the first method's run is INVALID: the queue only grew"]])
        marks = page.headings("r1-metrics").index("marks")
        self.assertEqual([row[marks] for row in page.table("r1-metrics")], ["", "", "INVALID", "INVALID throughput_speedup"])
        self.assertIn("1 INVALID throughput_speedup", page.words())

    @unittest.skipUnless(has_matplotlib(), NO_MATPLOTLIB)
    def test_draws_latency_against_rate_and_the_front(self):
        page = self.page(made_results.serving_folder(self.path("serving")), PATH=os.environ["PATH"])
        titles = ["".join(title.itertext()) for title in page.all("h4")]
        self.assertEqual(titles, ["Normalised latency against the request rate: median",
                                  "Normalised latency against the request rate: 99th percentile",
                                  "Time to first token against the request rate: median",
                                  "Time to first token against the request rate: 99th percentile",
                                  "Throughput against latency: the Pareto front over methods"])
        captions = ["".join(caption.itertext()) for caption in page.all("figcaption")]
        # relay_attention is faster at every rate, and paged serves less.
        self.assertIn("On the front, by request rate: relay_attention at 1, 2, 4, 8", captions[-1])
        self.assertIn("INVALID by their own rules, and crossed out: 2 of 8 points.", captions[0])
        self.assertEqual(len(page.all(HTML_SVG + "svg")), 5)


class Changes(Folders):
    def verdicts(self, page, pair="r1-r2"):
        headings = page.headings(pair + "-changes")
        return [(row[headings.index("method")], row[headings.index("metric")], row[headings.index("rate_rps")],
                 row[headings.index("verdict")]) for row in page.table(pair + "-changes")]

    def test_finds_what_became_worse_and_nothing_else(self):
        before = made_results.serving_folder(self.path("before"))
        after = made_results.serving_folder(self.path("after"), slower=1.5, seed=7)
        page = self.page(before, after)
        verdicts = self.verdicts(page)
        sampled = [verdict for _, metric, _, verdict in verdicts if metric == "ttft_ms"]
        self.assertEqual(sampled.count("worse"), 6)
        self.assertEqual(sampled.count("INVALID run"), 2)
        self.assertEqual({verdict for _, metric, _, verdict in verdicts if metric == "peak_kv_mb [MB]"},
                         {"same", "INVALID run"})
        self.assertEqual({verdict for _, metric, _, verdict in verdicts if metric == "ttft_ms.p99"},
                         {"not tested", "INVALID run"})
        self.assertEqual({verdict for _, metric, _, verdict in self.verdicts(self.page(after, before))
                          if metric == "ttft_ms"}, {"better", "INVALID run"})

    def test_calls_nothing_better_or_worse_between_runs_of_one_thing(self):
        """Tests ten pairs of runs drawn from one distribution. 1 % is the error level of the whole page."""
        first = made_results.serving_folder(self.path("first"))
        for seed in range(10):
            page = self.page(first, made_results.serving_folder(self.path("second"), seed=seed))
            verdicts = {verdict for _, _, _, verdict in self.verdicts(page)}
            self.assertLessEqual(verdicts, {"same", "undecided", "not tested", "INVALID run"}, seed)

    def test_a_folder_beside_itself_has_not_changed(self):
        page = self.page(self.run_dir, self.run_dir)
        headings = page.headings("r1-r2-changes")
        for row in page.table("r1-r2-changes"):
            self.assertEqual(row[headings.index("ratio")], "1.000")
            self.assertIn(row[headings.index("verdict")], ("same", "undecided"))
        self.assertIn("Settings, code, machine and files are the same.", page.words())

    def test_three_samples_decide_nothing(self):
        """Tests a smoke run: whatever the ratio, the page says that there are too few samples."""
        after = self.copy("slow")
        run, records = made_results.read_folder(after)
        for one in records:
            for name in ("ttft_ms", "e2e_ms", "tpot_ms"):
                one["samples"][name] = [3 * value for value in one["samples"][name]]
                for key, value in one["metrics"][name].items():
                    if isinstance(value, float):
                        one["metrics"][name][key] = 3 * value
        made_results.write_folder(after, run, records)
        page = self.page(self.run_dir, after)
        headings = page.headings("r1-r2-changes")
        rows = [row for row in page.table("r1-r2-changes") if row[headings.index("metric")] == "ttft_ms"]
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertEqual([row[headings.index(name)] for name in ("ratio", "interval of the factor", "verdict")],
                             ["3.000", "too few samples", "undecided"])

    def test_says_how_settings_machine_code_and_points_differ(self):
        before = made_results.serving_folder(self.path("before"))
        after = made_results.serving_folder(self.path("after"), rates=made_results.RATES[:2])
        run, records = made_results.read_folder(after)
        for one in records:
            one["settings"]["requested"]["threads"] = 8
            one["machine"] = {"cpu": "another", "logical_cores": 8, "limits": {"dram_read_gb_s": 90.0},
                              "device": {"name": "a GPU", "limits": {"read_gb_s": 4000.0}}}
            one["provenance"]["revision"] = "fedcba9876543210"
        made_results.write_folder(after, run, records)
        words = self.page(before, after).words()
        for text in ("threads 8, was 2", "processor another, was made up", "GPU a GPU, was none",
                     "a GPU with another, 8 logical cores", "GPU read_gb_s 4000", "dram_read_gb_s 90.0, was 20.0",
                     "code revision fedcba987654, was 0123456789ab", "4 points are in both, 4 only before, 0 only after."):
            self.assertIn(text, words)

    def test_other_experiments_are_told_one_after_another(self):
        page = self.page(self.run_dir, made_results.serving_folder(self.path("serving")))
        self.assertNotIn("What changed", page.words())
        self.assertEqual(len(page.table("r1-metrics")), 4)
        self.assertEqual(len(page.table("r2-metrics")), 8)


HOSTILE = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "a'b\"c&amp;d", "--><b>", "]]>", "${x}$y$",
           "\u202egnp.exe", "日本語 ÿ", "</style></script>", "&#60;b&#62;"]


class Hostile(Folders):
    def folder(self, text):
        """Makes a folder in which `text` stands wherever a text is free."""
        metrics = {text: {"value": 1.0, "unit": text}, "ttft_ms": {"value": 2.0, "unit": "ms"}}
        records = [made_results.record(f"{x}/p", 0, 1, {"method": text, "rate_rps": x, "model": text, "weights": text},
                                       metrics, remarks=[text], writer=text, sources={text: [text]})
                   for x in (1.0, 2.0)]
        for one in records:
            one["experiment"].update(paper=text, figure=text)
            one["answers"] = {text: text, "verdict": "INVALID", "reasons": [text]}
            one["machine"].update(cpu=text, limits={text: 1.0})
            one["provenance"].update(compiler=text, flags=text, revision=text, libraries={text: text})
            one["seeds"] = {text: 1}
        run = made_results.manifest({"rate_rps": [1.0, 2.0]}, [text], ["ttft_ms", text])
        run["settings"].update(name=text, models=[{"model": text, "weights": text}])
        braces = text.replace("{", "{{").replace("}", "}}")
        run["caption"] = {"title": braces, "paper": text, "figure": text, "note": braces}
        run["left_out"] = [{"method": text, "reason": text}]
        return made_results.write_folder(self.path("hostile"), run, records)

    def test_every_text_is_text(self):
        for text in HOSTILE:
            page = self.page(self.folder(text), self.folder(text))
            shown = text.replace("\u202e", "\\u202e")
            self.assertIn(" ".join(shown.split()), page.words(), text)
            for tag in ("img", "b"):
                self.assertEqual(page.all(tag), [], text)

    @unittest.skipUnless(has_matplotlib(), NO_MATPLOTLIB)
    def test_every_text_is_text_in_figures(self):
        folder = self.folder("x")
        records = [made_results.record(f"{x}/{i}", i, len(HOSTILE), {"method": text, "rate_rps": x}, {
            "ttft_ms": {"value": x + i, "unit": "ms"}}) for x in (1.0, 2.0) for i, text in enumerate(HOSTILE)]
        run = made_results.manifest({"rate_rps": [1.0, 2.0]}, HOSTILE, ["ttft_ms"])
        made_results.write_folder(folder, run, records)
        figure, = self.page(folder, PATH=os.environ["PATH"]).all(HTML_SVG + "svg")
        words = "".join(figure.itertext())
        for text in HOSTILE:
            self.assertIn(text, words)

    @unittest.skipUnless(has_matplotlib(), NO_MATPLOTLIB)
    def test_what_no_figure_can_show_is_dropped(self):
        folder = self.folder("x")
        run, records = made_results.read_folder(folder)
        for one in records:
            one["settings"]["resolved"]["method_label"] = "one\ufffelabel"
        made_results.write_folder(folder, run, records)
        figure, = self.page(folder, PATH=os.environ["PATH"]).all(HTML_SVG + "svg")
        self.assertIn("onelabel", "".join(figure.itertext()))

    def test_control_characters_are_written_out_or_refused(self):
        folder = self.folder("x")
        run, records = made_results.read_folder(folder)
        for one in records:
            one["sources"], one["answers"]["a\u0007"] = {"a": ["\u001b[31m\u0000\u009f\ufffe"]}, "\b"
        made_results.write_folder(folder, run, records)
        page = self.page(folder)
        self.assertIn("\\x1b[31m\\x00\\xc2\\x9f\\ufffe", page.words())
        self.assertFalse(any(ord(c) < 32 and c != "\n" for c in page.text))

    def test_folders_of_any_name(self):
        for name in ("with spaces", "größe <b>", "日本", "quote\"s'"):
            folder = self.copy(name)
            self.assertIn(folder, self.page(folder).words())
            done = reprise("report", folder, **NO_FIGURES)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertTrue(os.path.exists(os.path.join(folder, "report.html")))
        self.assertIn("not-utf8-\\xff", self.page(self.copy("not-utf8-\udcff")).words())


class Refusals(Folders):
    def test_names_what_is_no_folder_of_results(self):
        self.assertIn("/no/folder", self.refused("/no/folder"))
        empty = self.path("empty")
        os.makedirs(empty, exist_ok=True)
        self.assertIn("holds no records.jsonl", self.refused(empty))
        self.assertIn("run.json line 1", self.refused(os.path.join(self.run_dir, "run.json")))
        self.assertIn("/no/folder", self.refused(self.run_dir, "/no/folder"))
        self.assertEqual(reprise("report").returncode, 1)
        self.assertIn("--outt", reprise("report", self.run_dir, "--outt", "x").stderr)

    def test_says_where_it_cannot_write_and_what_to_do(self):
        self.assertIn("name a file with --out", self.refused(self.run_dir, "--out", self.dir))
        refused = self.refused(self.run_dir, "--out", "/no/folder/page.html")
        self.assertIn("/no/folder/page.html", refused)
        self.assertIn("Choose a place you may write to. (--out FILE)", refused)

    def test_reads_a_folder_that_cannot_be_written(self):
        folder = self.copy("read-only")
        before = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}
        os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR)
        try:
            self.page(folder)
            if os.geteuid() != 0:  # root ignores file modes
                self.assertIn("--out FILE", self.refused(folder))
        finally:
            os.chmod(folder, stat.S_IRWXU)
        self.assertEqual(before, {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)})

    def test_without_jinja_or_its_templates_it_says_what_to_install(self):
        out = self.path("unwritten.html")
        for environment, text in ((python_without("jinja2"), "Install the package python3-jinja2"),
                                  ({"REPRISE_PYTHON": "/bin/false"}, "REPRISE_PYTHON is \"/bin/false\""),
                                  ({"REPRISE_PLOTS_DIR": "/nowhere"}, "/nowhere/reprise_report.py is not there. Set "
                                                                     "REPRISE_PLOTS_DIR")):
            done = reprise("report", self.run_dir, "--out", out, **environment)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertTrue(done.stderr.startswith("reprise: ") and text in done.stderr, done.stderr)
            self.assertFalse(os.path.exists(out))

    def test_leaves_nothing_behind_where_it_fails(self):
        out = self.path("refused.html")
        self.refused("/no/folder", "--out", out)
        self.assertFalse(any(name.startswith("refused") for name in os.listdir(self.dir)))


class Bounds(Folders):
    def test_a_million_samples_take_no_room(self):
        folder = self.path("large")
        records = [made_results.record("1/p", 0, 1, {"method": "p", "rate_rps": 1.0},
                                       {"ttft_ms": {"value": 2.0, "unit": "ms"}},
                                       {"ttft_ms": [1.0 + i % 7 for i in range(1000000)]})]
        run = made_results.manifest({"rate_rps": [1.0]}, ["p"], ["ttft_ms"])
        page = self.page(made_results.write_folder(folder, run, records))
        self.assertLess(len(page.text), 50000)

    def test_more_points_than_a_page_holds_are_counted(self):
        values = [float(x) for x in range(1, 901)]
        records = [made_results.record(f"{x}/{m}", i, 2, {"method": m, "rate_rps": x}, {
            "ttft_ms": {"value": x, "unit": "ms"}}) for x in values for i, m in enumerate(("a", "b"))]
        run = made_results.manifest({"rate_rps": values}, ["a", "b"], ["ttft_ms"])
        page = self.page(made_results.write_folder(self.path("many"), run, records))
        self.assertEqual(len(page.table("r1-metrics")), 1000)
        self.assertIn("The first 1000 of 1800 rows", page.words())
        self.assertIn("--format csv", page.words())


if __name__ == "__main__":
    if not has_jinja():
        skip(NO_JINJA)
    unittest.main()
