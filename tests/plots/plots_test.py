"""Tests the plot script on small made-up documents: its figures, and its sentences on what it cannot draw."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

SCRIPT = os.path.join(sys.argv.pop(1), "reprise_plot.py")
os.environ["MPLBACKEND"] = "Agg"


def record(method, tokens, ttft_ms):
    requested = {"model": "models/a", "weights": "random", "dtype": "f32", "method": method, "threads": 2,
                 "isa": "avx2", "repetitions": 3, "prompt_tokens": tokens}
    metric = {"value": ttft_ms, "unit": "ms", "q1": ttft_ms * 0.9, "q3": ttft_ms * 1.1, "count": 3}
    return {"settings": {"requested": requested}, "metrics": {"ttft_ms": metric}, "seeds": {"prompts": 1},
            "machine": {"cpu": "made up"}, "provenance": {"revision": "0123456789abcdef", "dirty": False}}


def manifest(**plot):
    spec = {"family": "lines", "x": "prompt_tokens", "y": "ttft_ms", "series": "method", "name": "ttft_ms",
            "title": "A title", "log_x": True, "log_y": True}
    spec.update(plot)
    return {"settings": {"axes": {"prompt_tokens": [8, 16]}}, "axis_units": {"prompt_tokens": "tokens"},
            "caption": {"title": "A title", "paper": "P", "figure": "Figure 1", "note": "A note."},
            "plots": [spec]}


def attention_record(index, method, batch, shared, heads=32):
    """Makes a point of a sweep over two axes and panels; the second method is faster if much is shared."""
    requested = {"dtype": "bf16", "method": method, "method_options": {}, "threads": 2, "isa": "avx2", "repetitions": 3,
                 "batch": batch, "shared_tokens": shared, "kv_heads": heads, "heads": 32, "head_dim": 128}
    speedup = 1.0 if index == 0 else 0.5 + batch * shared / 1000
    metrics = {"speedup": {"value": speedup, "unit": "ratio"}, "shared_us": {"value": 3.0, "unit": "us"},
               "private_us": {"value": 5.0, "unit": "us"}, "relay_theory_speedup": {"value": 2.0, "unit": "ratio"}}
    return {"point": f"{method} {batch} {shared} {heads}", "group": {"index": index},
            "settings": {"requested": requested}, "metrics": metrics, "seeds": {"prompts": 1},
            "machine": {"cpu": "made up"}, "provenance": {"revision": "0123456789abcdef", "dirty": False}}


ATTENTION = [attention_record(index, method, batch, shared, heads)
             for index, method in enumerate(("paged", "relay_attention")) for batch in (1, 8)
             for shared in (64, 512) for heads in (32, 4)]


def attention_manifest(**plot):
    run = manifest(x="shared_tokens", y="speedup", panels="kv_heads", **plot)
    run["settings"]["axes"] = {"batch": [1, 8], "shared_tokens": [64, 512], "kv_heads": [32, 4]}
    return run


RECORDS = [record(method, tokens, tokens * factor)
           for method, factor in (("recompute", 1.0), ("contiguous", 0.5)) for tokens in (8, 16, 32)]


def document(records, run, papers=(), skipped=0, missing=0):
    return {"source": "made-up", "run": run, "records": records, "papers": list(papers), "skipped": skipped,
            "missing": missing}


class PlotTest(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)

    def draw(self, records, run, papers=()):
        return self.draw_text(json.dumps(document(records, run, papers)))

    def draw_text(self, text):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = os.path.join(self.folder.name, "document.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.run_script(path, "--out", os.path.join(self.folder.name, "figures"))

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)

    def figure(self, name):
        with open(os.path.join(self.folder.name, "figures", name), "rb") as file:
            return file.read()

    def test_draws_pdf_and_png(self):
        done = self.draw(RECORDS, manifest())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("ttft_ms.pdf").startswith(b"%PDF"))
        png = self.figure("ttft_ms.png")
        self.assertTrue(png.startswith(b"\x89PNG"))
        self.assertGreater(int.from_bytes(png[16:20], "big"), 1000)

    def test_draws_linear_axes(self):
        done = self.draw(RECORDS, manifest(log_x=False, log_y=False))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_draws_panels_theory_and_the_papers_numbers(self):
        papers = [{"source": "A paper", "hardware": f"one {label}", "label": label, "points": {
            "relay_attention 8 512 4": {"speedup": {"value": value, "unit": "ratio"}}}}
            for label, value in (("A40", 3.0), ("A100", 4.0))]
        done = self.draw(ATTENTION, attention_manifest(reference="relay_theory_speedup", name="lines"), papers)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("lines.png").startswith(b"\x89PNG"))

    def test_panels_are_as_high_as_the_highest_of_them(self):
        import lines
        records = [attention_record(0, "paged", 8, shared, heads) for shared in (64, 512) for heads in (32, 4)]
        for higher in (4, 32):
            for entry in records:
                entry["metrics"]["speedup"]["value"] = 10.0 if entry["settings"]["requested"]["kv_heads"] == higher else 1.0
            for log_y in (False, True):
                run = attention_manifest(log_y=log_y)
                figure, _ = lines.draw(document(records, run), run["plots"][0])
                for panel in figure.axes:
                    low, high = panel.get_ylim()
                    self.assertTrue(low < 1 and high > 10, (higher, log_y, low, high))

    def test_axes_that_change_with_the_panels_name_these_and_no_series(self):
        import lines
        records = [attention_record(0, "paged", batch, shared, heads) for batch, heads in ((8, 32), (16, 4))
                   for shared in (64, 512)]
        run = attention_manifest()

        def names(cases):
            run["settings"]["cases"] = cases
            figure, _ = lines.draw(document(records, run), run["plots"][0])
            legend = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
            return [panel.get_title() for panel in figure.axes], legend
        tied = [{"batch": 8, "kv_heads": 32}, {"batch": 16, "kv_heads": 4}]
        heads, batch = "heads of keys and values", "sequences in the batch"
        self.assertEqual(names(tied), ([f"{heads}: 4, {batch}: 16", f"{heads}: 32, {batch}: 8"], ["paged"]))
        self.assertEqual(names([case | {"dtype": "f32"} for case in tied]), names(tied))
        free = tied + [{"batch": 8, "kv_heads": 4}]
        self.assertEqual(names(free), ([f"{heads}: 4", f"{heads}: 32"], ["paged, batch=8", "paged, batch=16"]))

    def test_options_of_a_method_have_lines_of_their_own(self):
        import lines
        records = [attention_record(index, "chunk_attention", batch, shared) for index in (0, 1) for batch in (1, 8)
                   for shared in (64, 512)]
        for one in records:
            one["settings"]["requested"]["method_options"] = {"chunk_tokens": 64 if one["group"]["index"] else 16}
        run = attention_manifest(series="batch")
        figure, _ = lines.draw(document(records, run), run["plots"][0])
        self.assertEqual([text.get_text() for text in figure.axes[-1].get_legend().get_texts()],
                         [f"batch={batch}, chunk_attention (chunk_tokens {tokens})" for tokens in (16, 64) for batch in (1, 8)])

    def test_the_caption_names_the_papers_that_are_drawn(self):
        from common import caption_of
        papers = [{"source": "A paper", "hardware": f"one {label}", "label": label, "points": {
            "relay_attention 8 512 4": {"speedup": {"value": 1.0, "unit": "ratio"}}}} for label in ("A40", "A100")]
        whole = document(ATTENTION, attention_manifest(), papers)
        self.assertIn("A40, A100: A paper, on one A40; one A100.", caption_of(whole, {"family": "lines", "y": "speedup"}))
        self.assertNotIn("A paper", caption_of(whole, {"family": "lines", "y": "shared_us"}))
        alone = document(ATTENTION, attention_manifest(), [papers[0] | {"label": "paper"}])
        self.assertIn(" Paper: A paper, on one A40.", caption_of(alone, {"family": "lines", "y": "speedup"}))
        self.assertNotIn("A paper", caption_of(whole, {"family": "map", "y": "speedup"}))

    def test_numbers_of_means_are_not_drawn_and_not_named(self):
        """Documents of reports have papers' numbers of means, but only for the rows of tables."""
        import lines
        from common import caption_of, page_caption_of
        mean = {"relay_attention 8 512 4-mean": {"speedup": {"value": 3.0, "unit": "ratio"}}}
        run = attention_manifest()
        whole = document(ATTENTION, run, [{"source": "A paper", "hardware": "one A40", "label": "A40", "points": mean}])
        figure, _ = lines.draw(whole, run["plots"][0])
        legend = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
        self.assertNotIn("A40", " ".join(legend))
        for caption in (caption_of, page_caption_of):
            self.assertNotIn("A paper", caption(whole, run["plots"][0]))

    def test_theory_is_drawn_for_each_shape(self):
        import lines
        run = attention_manifest(reference="relay_theory_speedup")
        figure, _ = lines.draw(document(ATTENTION, run), run["plots"][0])
        dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--" and line.get_color() == "#555555"]
        self.assertEqual(len(dashed), 2)  # one per batch; the panels of heads share them

    def test_a_limit_that_depends_on_the_method_is_drawn_for_each_in_its_colour(self):
        import lines
        records = json.loads(json.dumps(RECORDS))
        run = manifest(reference="ttft_limit_ms")

        def dashed(is_of_methods):
            for index, entry in enumerate(records):
                entry["metrics"]["ttft_limit_ms"] = {"value": 1.0 + index // 3 * is_of_methods, "unit": "ms"}
            figure, _ = lines.draw(document(records, run), run["plots"][0])
            labels = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
            solid = {line.get_label(): line.get_color() for line in figure.axes[0].lines if line.get_linestyle() == "-"}
            return labels[-1], solid, [(line.get_color(), list(line.get_ydata())) for line in figure.axes[0].lines
                                       if line.get_linestyle() == "--"]
        label, colors, found = dashed(True)
        self.assertEqual(label, "limit of the time to first token,\nin the method's colour")
        self.assertEqual(found, [(colors["recompute"], [1.0] * 3), (colors["contiguous"], [2.0] * 3)])
        label, _, found = dashed(False)
        self.assertEqual(label, "limit of the time to first token")
        self.assertEqual(found, [("#555555", [1.0] * 3)])

    def test_draws_maps_and_refuses_two_records_in_one_place(self):
        run = attention_manifest(family="map", rows="batch", name="map")
        done = self.draw(ATTENTION, run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("map.png").startswith(b"\x89PNG"))
        run["plots"][0]["panels"] = ""
        done = self.draw(ATTENTION, run)
        self.assertEqual(done.returncode, 1)
        self.assertIn("panels", done.stderr)

    def test_a_map_refuses_a_second_record_in_the_place_of_an_invalid_one(self):
        import common
        import heat_map
        run = attention_manifest(family="map", rows="batch", name="map")
        first = next(one for one in ATTENTION if one["group"]["index"] == 1)
        for records in ([first | {"invalid": "too short"}, first], [first, first | {"invalid": "too short"}]):
            with self.assertRaisesRegex(common.CannotDraw, "several records share one place"):
                heat_map.draw(document(records, run), run["plots"][0])

    def test_maps_abbreviate_names_by_letters_of_any_alphabet_or_not_at_all(self):
        from heat_map import initials_of
        self.assertEqual(initials_of(["relay_attention", "\u03b1 \u03b2-\u03b3"]),
                         {"relay_attention": "RA", "\u03b1 \u03b2-\u03b3": "\u0391\u0392\u0393"})
        self.assertEqual(initials_of(["paged", "--"]), {"paged": "paged", "--": "--"})

    def test_the_first_method_is_in_a_map_without_a_ratio_of_its_own(self):
        import heat_map
        records = json.loads(json.dumps(ATTENTION))
        for one in records:
            if one["group"]["index"] == 0:
                del one["metrics"]["speedup"]
        run = attention_manifest(family="map", rows="batch", name="map")

        def texts(records):
            figure, remark = heat_map.draw(document(records, run), run["plots"][0])
            return [(plot.get_title(), text.get_text()) for plot in figure.axes for text in plot.texts], remark
        self.assertEqual(texts(records), texts(ATTENTION))
        alone = [one for one in records if one["group"]["index"] == 0]
        self.assertIsNone(heat_map.draw(document(alone, run), run["plots"][0]))

    def test_a_stack_adds_up_one_unit_and_calls_only_times_a_time(self):
        import stack
        from common import CannotDraw
        records = json.loads(json.dumps(ATTENTION))
        run = attention_manifest(family="stack", stack=["shared_us", "private_us"], name="parts")

        def label(*units):
            for one in records:
                for name, unit in zip(("shared_us", "private_us"), units):
                    one["metrics"][name]["unit"] = unit
            return stack.draw(document(records, run), run["plots"][0])[0].axes[0].get_ylabel()
        self.assertEqual(label("us", "us"), "time [us]")
        self.assertEqual(label("MFLOP", "MFLOP"), "sum [MFLOP]")
        with self.assertRaisesRegex(CannotDraw, "units MB, us"):
            label("us", "MB")

    def test_draws_stacks_of_parts(self):
        run = attention_manifest(family="stack", stack=["shared_us", "private_us"], name="parts")
        done = self.draw(ATTENTION, run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("parts.png").startswith(b"\x89PNG"))

    def test_draws_requests_over_time(self):
        import common
        import timeline

        def timed(index, method, samples):
            one = record(method, 8, samples[0])
            return one | {"group": {"id": "g", "index": index}, "samples": {"ttft_ms": samples}}
        records = [timed(0, "paged", [8.0, 8.0, 8.0, 6.0]), timed(1, "auto", [4.0, 2.0, 1.0, 6.0])]
        run = manifest(family="timeline", name="over_time")
        figure, remark = timeline.draw(document(records, run), run["plots"][0])
        points = [line.get_ydata() for line in figure.axes[0].get_lines() if line.get_marker() == "."]
        self.assertEqual([list(ratios) for ratios in points], [[2.0, 4.0, 8.0, 1.0]])
        self.assertIn("sum of 9 requests", remark)
        lines = [line.get_ydata() for line in figure.axes[0].get_lines() if line.get_marker() == "None"]
        self.assertEqual([list(speedups) for speedups in lines[1:]], [[30 / 13] * 4])  # the first is at 1
        self.assertEqual(timeline.running_speedup([1.0] * 12, list(range(12)))[6], sum(range(2, 11)) / 9)
        # Runs that did not serve the same requests cannot be compared one by one.
        self.assertEqual(timeline.pairs_of(timed(1, "auto", [4.0]), records[0], "ttft_ms"), ([], []))
        failed = records[1] | {"metrics": records[1]["metrics"] | {"errors": {"value": 1, "unit": "requests"}}}
        self.assertEqual(timeline.pairs_of(failed, records[0], "ttft_ms"), ([], []))
        for invalid in ([records[0], records[1] | {"invalid": "too short"}],
                        [records[0] | {"invalid": "too short"}, records[1]]):
            figure, _ = timeline.draw(document(invalid, run), run["plots"][0])
            self.assertIn("(INVALID)", figure.axes[0].get_legend().get_texts()[0].get_text())
        common.take_looks({"looks": {"auto": ["#E69F00", "v"]}})
        self.addCleanup(common.LOOKS.clear)
        figure, _ = timeline.draw(document(invalid, run), run["plots"][0])
        handle, = figure.axes[0].get_legend().get_lines()
        self.assertEqual((handle.get_color(), handle.get_linestyle()), ("#E69F00", ":"))
        self.assertEqual(self.draw(records, run).returncode, 0)
        self.assertIsNone(timeline.draw(document(RECORDS, run), run["plots"][0]))
        # A curve that cannot be drawn is not in the legend either.
        failed["settings"] = {"requested": failed["settings"]["requested"] | {"method": "relay"}}
        figure, remark = timeline.draw(document([*records, failed], run), run["plots"][0])
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["auto"])
        self.assertIn("Left out: 1 of 2 curves, of runs that had errors or other requests than the first method's.", remark)
        self.assertIn("no record has ttft_ms to compare with the first method's, request by request",
                      self.draw([records[0], failed], run).stderr)

    def test_a_timeline_has_the_panels_of_its_axis_alone(self):
        import timeline
        records = [record(method, 8, 1.0) | {"group": {"id": model, "index": index}, "samples": {"ttft_ms": [1.0, 2.0]}}
                   for model in ("models/a", "models/b") for index, method in enumerate(("paged", "auto"))]
        for one in records:
            one["settings"]["requested"]["model"] = one["group"]["id"]
        run = manifest(family="timeline", panels="model")
        figure, _ = timeline.draw(document(records, run), run["plots"][0])
        self.assertEqual([plot.get_title() for plot in figure.axes], ["length of the prompt: 8"])
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["auto, a", "auto, b"])

    def test_draws_attention_maps_of_two_texts(self):
        import attention
        def mapped(method, layer, **asked):
            one = record(method, layer, 0.25)
            one["settings"]["requested"] |= asked
            maps = {"head": 3, "tokens": 2, "texts": ["first $ text", "second"],
                    "weights_permille": [[1000, 0, 400, 600], [1000, 0, 500, 500]]}
            return one | {"answers": {"maps": maps}}
        records = [mapped("pairs", 8), mapped("pairs", 16)]
        run = manifest(family="attention", name="maps")
        figure, remark = attention.draw(document(records, run), run["plots"][0])
        self.assertIn("the head whose maps are most alike", remark)
        asked = document([mapped("pairs", 8, head=3), mapped("pairs", 16, head=-1)], run)
        self.assertNotIn("most alike", attention.draw(asked, run["plots"][0])[1])
        images = [plot.images[0].get_array() for plot in figure.axes if plot.images]
        self.assertEqual(len(images), 4)
        self.assertEqual(images[2].tolist(), [[1.0, 0.0], [0.5, 0.5]])  # the second text's map is below
        self.assertEqual(self.draw(records, run).returncode, 0)
        self.assertIn("share one place", self.draw(records + records[:1], run).stderr)
        self.assertIsNone(attention.draw(document(RECORDS, run), run["plots"][0]))

    def test_writes_figures_where_it_is_told_and_nowhere_else(self):
        for name in ("../escaped", "/tmp/escaped", "a/b", "", ".hidden", "..", None, 7, "x" * 200, "a\nb"):
            done = self.draw(RECORDS, manifest(name=name))
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("cannot be called", done.stderr)

    def test_replaces_a_link_and_does_not_follow_it(self):
        with tempfile.TemporaryDirectory() as folder:
            document_path, figures = os.path.join(folder, "document.json"), os.path.join(folder, "figures")
            victim = os.path.join(folder, "victim")
            os.mkdir(figures)
            for path, text in ((victim, "mine"), (document_path, json.dumps(document(RECORDS, manifest())))):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            os.symlink(victim, os.path.join(figures, "ttft_ms.pdf"))
            done = self.run_script(document_path, "--out", figures)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(victim, encoding="utf-8") as file:
                self.assertEqual(file.read(), "mine")
            self.assertFalse(os.path.islink(os.path.join(figures, "ttft_ms.pdf")))
            self.assertEqual(sorted(os.listdir(figures)), ["ttft_ms.pdf", "ttft_ms.png"])
            self.assertTrue(os.stat(os.path.join(figures, "ttft_ms.png")).st_mode & 0o200)

    def test_says_in_a_sentence_what_it_cannot_draw(self):
        """Tests the script called by hand: no traceback, and no status 0 without figures."""
        for run in (None, [], {"a": 1}, "text", {"plots": 7, "settings": {}}, {"plots": [{}]}, {"plots": [7]},
                    manifest(x=["list"]), manifest(y={}), manifest(family="pie"), manifest(title=7)):
            done = self.draw(RECORDS, run)
            self.assertNotIn("Traceback", done.stderr, run)
            self.assertTrue(done.returncode == 1 or not isinstance(run, dict) or not run.get("plots"), run)
        for change in ({"metrics": None}, {"settings": {}}, {"machine": []}, {"seeds": None}, {"metrics": {"ttft_ms": 3}}):
            done = self.draw([RECORDS[0] | change], manifest())
            self.assertNotIn("Traceback", done.stderr, change)
            self.assertEqual(done.returncode, 1, change)
        for text in ("null", "[]", "{}", "{", "", "[" * 100000, json.dumps(document([], manifest()))):
            done = self.draw_text(text)
            self.assertNotIn("Traceback", done.stderr, text[:20])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        done = self.run_script(self.folder.name, "--out", self.folder.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("reprise plot " + self.folder.name, done.stderr)
        self.assertEqual(self.run_script("/nowhere", "--out", "/tmp").stderr.count("\n"), 1)

    def test_an_interrupt_ends_it_without_a_traceback(self):
        """Tests an interrupt at any point, here while it imports its libraries."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "matplotlib.py"), "w", encoding="utf-8") as file:
                file.write("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n")
            done = subprocess.run([sys.executable, SCRIPT, "a", "--out", "b"], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONPATH": folder})
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGINT, ""))

    def test_full_standard_error_costs_no_figure(self):
        self.draw(RECORDS, manifest(x=["list"]))  # creates a folder
        path = os.path.join(self.folder.name, "document.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document(RECORDS, manifest()), file)
        figures = os.path.join(self.folder.name, "figures")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([sys.executable, SCRIPT, path, "--out", figures], stderr=full, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(sorted(os.listdir(figures)), ["ttft_ms.pdf", "ttft_ms.png"])

    def test_a_reader_of_notes_that_has_left_costs_no_figure(self):
        self.draw(RECORDS, manifest(x=["list"]))  # creates a folder
        path = os.path.join(self.folder.name, "document.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document(RECORDS, manifest()), file)
        figures = os.path.join(self.folder.name, "figures")
        for is_results_reader_there in (True, False):
            shutil.rmtree(figures, ignore_errors=True)
            reader, left = os.pipe()
            os.close(reader)
            done = subprocess.run([sys.executable, SCRIPT, path, "--out", figures], check=False, stderr=left,
                                  stdout=subprocess.PIPE if is_results_reader_there else left)
            os.close(left)
            self.assertEqual(done.returncode, 0 if is_results_reader_there else 128 + signal.SIGPIPE)
            self.assertEqual("ttft_ms.png" in os.listdir(figures), is_results_reader_there)

    def test_names_of_folders_do_not_steer_the_terminal(self):
        self.draw(RECORDS, manifest())
        path = os.path.join(self.folder.name, "document.json")
        done = self.run_script(path, "--out", os.path.join(self.folder.name, "a\x1b[31m\nb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a\\x1b[31m\\nb/ttft_ms.pdf", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_models_that_differ_in_weights_or_folders_have_lines_of_their_own(self):
        import common
        records = json.loads(json.dumps([entry for entry in RECORDS for _ in range(3)]))
        for entry, (model, weights) in zip(records, [("runs/a/final", "random"), ("runs/b/final", "random"),
                                                     ("runs/b/final", "checkpoint")] * len(RECORDS)):
            entry["settings"]["requested"] |= {"model": model, "weights": weights}
        self.addCleanup(common.NAMES.clear)
        common.take_names(records)
        run = manifest()
        varying = common.varying_settings(records, run, run["plots"][0])
        self.assertEqual([common.series_name(entry, run["plots"][0], varying) for entry in records[:3]],
                         ["recompute, a/final, random", "recompute, b/final, random", "recompute, b/final, checkpoint"])

    def test_names_who_ties_instead_of_one_of_them(self):
        import heat_map
        grids = {}
        for name, value, low, high in (("paged", 1.0, 1.0, 1.0), ("a", 2.0, 1.8, 2.2), ("b", 1.9, 1.7, 2.1),
                                       ("c", 1.0, 0.9, 1.1)):
            grids[name] = heat_map.Grid((1, 1))
            grids[name].put((0, 0), {"value": value, "q1": low, "q3": high, "iqr": high - low})
        self.assertEqual(heat_map.fastest_of(grids, list(grids), (0, 0)), ["a", "b"])
        grids["b"].put((0, 0), {"value": 1.5, "q1": 1.45, "q3": 1.55, "iqr": 0.1})
        self.assertEqual(heat_map.fastest_of(grids, list(grids), (0, 0)), ["a"])

    def test_a_method_looks_the_same_in_every_figure(self):
        import common
        from common import styles_of
        names = ["paged", "auto", "torch_sdpa"]
        common.take_looks({"looks": {"paged": ["#0072B2", "o"], "auto": ["#E69F00", "v"], "torch_sdpa": ["#7B5CB8", "h"]}})
        self.addCleanup(common.LOOKS.clear)
        alone = {name: styles_of([name])[name] for name in names}
        self.assertEqual(alone["paged"], ("#0072B2", "o", "-"))
        self.assertEqual(len(set(alone.values())), len(names))
        self.assertEqual(styles_of(list(reversed(names))), alone)
        with_options = "paged (partition_tokens 64)"
        styles = styles_of([with_options, "paged", "models/a", "torch_sdpa"])
        self.assertEqual(styles["paged"], alone["paged"])
        self.assertEqual(styles["torch_sdpa"], alone["torch_sdpa"])
        self.assertEqual(len(set(styles.values())), 4)
        self.assertEqual(styles_of([with_options])[with_options], alone["paged"])
        self.assertEqual(len(styles_of([str(i) for i in range(100)])), 100)

    def test_a_curve_whose_machine_moved_says_so(self):
        from common import moved, moved_remark
        from lines import moved_series

        def at(tokens, gb_s):
            one = record("contiguous", tokens, 1.0)
            one["metrics"]["beside_gb_s"] = {"value": gb_s, "unit": "GB/s"}
            return one
        spec = {"x": "prompt_tokens", "y": "ttft_ms", "series": "method"}
        steady, moving = [at(8, 80.0), at(16, 95.0)], [at(8, 45.0), at(16, 84.0)]
        self.assertEqual(moved(steady), {})
        self.assertEqual(moved_series(steady, spec, []), {})
        self.assertEqual(moved(moving), {"read rate": (45.0, 84.0, "GB/s")})
        self.assertEqual(list(moved_series(moving, spec, [])), ["contiguous"])
        self.assertIn("read rate moved from 45 to 84 GB/s", moved_remark([moved(moving)]))
        ratio = [one | {"metrics": one["metrics"] | {"ttft_ms": {"value": 2.0, "unit": "ratio"}}} for one in moving]
        self.assertEqual(moved_series(ratio, spec, []), {}, "both sides of a ratio meet the same moment")
        done = self.draw(moving, manifest())
        self.assertEqual(done.returncode, 0, done.stderr)
        limits = [one | {"machine": {"cpu": "x", "limits": {"dram_read_gb_s": gb_s}}}
                  for one, gb_s in ((record("contiguous", 8, 1.0), 50.0), (record("contiguous", 16, 1.0), 100.0))]
        self.assertIn("read rate", moved(limits))

    def test_a_band_is_claimed_where_there_is_one(self):
        from common import has_band
        self.assertTrue(has_band(RECORDS, "ttft_ms"))
        flat = [one | {"metrics": {"ttft_ms": {"value": 1.0, "q1": 1.0, "q3": 1.0, "unit": "ms"}}} for one in RECORDS]
        self.assertFalse(has_band(flat, "ttft_ms"))
        self.assertFalse(has_band(ATTENTION, "speedup"))

    def test_the_caption_counts_threads_and_repetitions(self):
        from common import caption_of
        self.assertIn(", 2 threads, avx2; median of 3 repetitions;",
                      caption_of(document(RECORDS, manifest()), {"y": "ttft_ms"}, has_bands=False))
        on_gpu = [one | {"machine": one["machine"] | {"device": {"name": "a GPU"}}} for one in RECORDS]
        self.assertIn("f32; a GPU with made up, 2 threads, avx2;",
                      caption_of(document(on_gpu, manifest()), {"y": "ttft_ms"}, has_bands=False))
        alone = json.loads(json.dumps(RECORDS))
        for one in alone:
            one["settings"]["requested"].update(threads=1, repetitions=1)
            one["metrics"]["ttft_ms"].update(count=1, p99=one["metrics"]["ttft_ms"]["value"])
        self.assertIn(", 1 thread, avx2; 1 repetition;",
                      caption_of(document(alone, manifest()), {"y": "ttft_ms"}, has_bands=False))
        self.assertIn("; p99 of 1 repetition;",
                      caption_of(document(alone, manifest()), {"y": "ttft_ms.p99"}, has_bands=False))

    def test_the_caption_claims_a_median_where_there_are_samples(self):
        from common import text_of_taking

        def taken(spec=None, **metric):
            records = json.loads(json.dumps(RECORDS))
            for one in records:
                one["metrics"]["ttft_ms"].update(metric)
            return text_of_taking(records, spec or {"y": "ttft_ms"}, False)
        self.assertEqual(taken(), "median of 3 repetitions")
        self.assertEqual(taken(count=320, population=True), "median of up to 320 samples")
        self.assertEqual(taken(count=3, population=True), "median of up to 3 samples")
        self.assertEqual(taken({"y": "ttft_ms.p99"}, count=320, p99=1.0), "p99 of up to 320 samples")
        self.assertEqual(taken({"y": "ttft_ms", "family": "timeline"}), "")
        self.assertEqual(taken({"y": "tpot_ms"}), "")
        self.assertEqual(text_of_taking(ATTENTION, {"y": "speedup"}, False), "")  # single numbers
        self.assertEqual(text_of_taking(ATTENTION, {"family": "stack", "stack": ["shared_us", "private_us"]}, False), "")

    def test_each_family_says_what_becomes_of_invalid_runs(self):
        import heat_map
        import lines
        import pareto
        import stack
        from common import gaps_of
        records = json.loads(json.dumps(ATTENTION))
        for one in records:
            if one["settings"]["requested"]["batch"] == 8 and one["group"]["index"] == 1:
                one["invalid"] = "too short"

        def drawn(module, **plot):
            run = attention_manifest(**plot)
            whole = document(records, run)
            figure, _ = module.draw(whole, run["plots"][0])
            return figure, " ".join(gaps_of(whole, run["plots"][0]))

        def crosses(figure):
            return sum(len(line.get_xdata()) for plot in figure.axes for line in plot.lines if line.get_marker() == "x")
        figure, caption = drawn(heat_map, family="map", rows="batch")
        self.assertIn("INVALID by their own rules, and left out; nothing is called fastest there: 4 of 16 points.", caption)
        texts = [text.get_text() for plot in figure.axes for text in plot.texts]
        self.assertEqual((texts.count("P"), texts.count("RA"), texts.count("P RA")), (2, 0, 2))
        figure, caption = drawn(stack, family="stack", stack=["shared_us", "private_us"])
        self.assertIn("INVALID by their own rules, and crossed out: 4 of 16 points.", caption)
        self.assertEqual(crosses(figure), 4)
        figure, caption = drawn(lines, family="lines")
        self.assertIn("INVALID by their own rules, and crossed out: 4 of 16 points.", caption)
        self.assertEqual(crosses(figure), 4)
        del records[-1]["metrics"]["speedup"]
        self.assertIn("crossed out: 3 of 16 points.", drawn(lines, family="lines")[1])
        del records[-2]["metrics"]["shared_us"]
        figure, caption = drawn(stack, family="stack", stack=["shared_us", "private_us"])  # one part alone is not drawn
        self.assertIn("crossed out: 3 of 16 points.", caption)
        self.assertEqual(crosses(figure), 3)
        figure, caption = drawn(pareto, family="pareto", against="shared_us", log_x=False)
        self.assertIn("crossed out: 2 of 16 points.", caption)
        self.assertEqual(crosses(figure), 2)
        for one in records:
            one["invalid"] = "too short"
        run = attention_manifest(family="map", rows="batch", name="map")
        self.assertIn("no record has speedup in a VALID run: figure map is left out", self.draw(records, run).stderr)

    def test_a_speedup_over_an_invalid_run_is_crossed_out(self):
        import lines
        records = json.loads(json.dumps(RECORDS))
        for one in records:
            one["metrics"]["throughput_speedup"] = {"value": 2.0, "unit": "ratio"}
        records[3]["invalid_speedup"] = "the first method's run is INVALID: too short"
        for metric, crosses in (("throughput_speedup", 1), ("ttft_ms", 0)):
            run = manifest(y=metric)
            figure, _ = lines.draw(document(records, run), run["plots"][0])
            self.assertEqual(sum(line.get_marker() == "x" for line in figure.axes[0].lines), crosses, metric)

    def test_labels_that_begin_with_an_underscore_are_in_the_legend(self):
        import lines
        import pareto
        import timeline

        def labels(module, **plot):
            run = manifest(**plot)
            records = [record(method, tokens, 1.0) | {"group": {"id": str(tokens), "index": index},
                                                      "samples": {"ttft_ms": [1.0, 2.0]}}
                       for tokens in (8, 16) for index, method in enumerate(("paged", "_under"))]
            figure, _ = module.draw(document(records, run), run["plots"][0])
            return [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
        self.assertIn("\u200b_under", labels(lines))
        self.assertIn("\u200b_under", labels(pareto, family="pareto", against="ttft_ms", log_x=False))
        self.assertIn("\u200b_under", labels(timeline, family="timeline"))

    def test_long_words_below_an_axis_end_at_their_ticks(self):
        import heat_map
        import lines
        records = json.loads(json.dumps(ATTENTION))
        for one in records:
            one["settings"]["requested"]["shared_tokens"] = f"a_long_word_{one['settings']['requested']['shared_tokens']}"
        for module, plot in ((lines, {}), (heat_map, {"family": "map", "rows": "batch"})):
            run = attention_manifest(**plot)
            run["settings"]["axes"]["shared_tokens"] = ["a_long_word_64", "a_long_word_512"]
            figure, _ = module.draw(document(records, run), run["plots"][0])
            labels = [label for label in figure.axes[-2].get_xticklabels() if label.get_text().startswith("a_long")]
            self.assertEqual([label.get_ha() for label in labels], ["right", "right"])

    def test_the_caption_counts_what_is_not_there(self):
        from common import caption_of
        caption = caption_of(document(RECORDS, manifest(), skipped=2, missing=4), {"note": "Filled."})
        self.assertIn("2 of 12 points did not fit into the machine's memory.", caption)
        self.assertIn("4 of 12 points are missing.", caption)
        self.assertTrue(caption.endswith("Filled."))
        self.assertNotIn("missing", caption_of(document(RECORDS, manifest()), {}))

    def test_noisy_cells_are_hatched_and_explained(self):
        import heat_map
        records = [one | {"metrics": {"speedup": one["metrics"]["speedup"] | {"iqr": 1.0, "q1": 0.5, "q3": 1.5}}}
                   for one in ATTENTION]
        run = attention_manifest(family="map", rows="batch", name="map")
        figure, remark = heat_map.draw(document(records, run), run["plots"][0])
        self.assertIn("hatched: noisy", remark)
        self.assertTrue(any(patch.get_hatch() for plot in figure.axes for patch in plot.patches))
        figure, remark = heat_map.draw(document(ATTENTION, run), run["plots"][0])
        self.assertNotIn("hatched", remark)
        self.assertIn("Fastest: P paged, RA relay_attention; grey where they tie.", remark)

    def test_values_below_zero_are_seen(self):
        import lines
        run = manifest()
        for lowest, bottom in ((-0.5, -0.5), (0.5, 0.0)):
            records = [one | {"metrics": one["metrics"] | {"ttft_ms": {"value": lowest, "unit": "ms"}}} for one in RECORDS]
            figure, _ = lines.draw(document(records, run), run["plots"][0] | {"log_y": False})
            self.assertLessEqual(figure.axes[0].get_ylim()[0], bottom)

    def test_noisy_points_of_a_line_are_starred(self):
        import lines
        run = manifest()
        spec = run["plots"][0]

        def stars_of(metric):
            records = [one | {"metrics": one["metrics"] | {"ttft_ms": one["metrics"]["ttft_ms"] | metric}} for one in RECORDS]
            figure, _ = lines.draw(document(records, run), spec)
            legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
            return sum(text.get_text() == "*" for plot in figure.axes for text in plot.texts), "noisy" in legend
        self.assertEqual(stars_of({}), (0, False))
        self.assertEqual(stars_of({"disturbed": {"count": 1, "of": 3}}), (len(RECORDS), True))

    def test_a_long_title_of_a_map_is_broken(self):
        import heat_map
        run = attention_manifest(family="map", rows="batch", name="map")
        records = [one | {"settings": {"requested": one["settings"]["requested"] | {
            "method": "relay_attention_with_a_long_name" if one["group"]["index"] else "paged"}}} for one in ATTENTION]
        figure, _ = heat_map.draw(document(records, run), run["plots"][0])
        figure.canvas.draw()
        for plot in figure.axes:
            self.assertLess(plot.title.get_window_extent().width, plot.get_window_extent().width * 1.15)

    def test_a_token_rate_is_that_of_a_layer_in_kind_attention_alone(self):
        from common import metric_label
        for kind, label in (("attention", "token rate of one attention layer [tokens/s]"), ("prefill", "token rate [tokens/s]")):
            records = [{"experiment": {"kind": kind}, "metrics": {"tokens_per_s": {"value": 1.0, "unit": "tokens/s"}}}]
            self.assertEqual(metric_label(records, "tokens_per_s"), label)

    def test_a_unit_that_the_name_says_is_not_said_again(self):
        from common import label_of
        self.assertEqual(label_of("shared_tokens", "tokens"), "shared tokens")
        self.assertEqual(label_of("ttft_ms", "ms"), "time to first token [ms]")

    def test_draws_zeros_on_logarithmic_axes(self):
        zeros = [record("contiguous", tokens, 0.0) for tokens in (8, 16)]
        done = self.draw(zeros, manifest())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Warning", done.stderr)

    def test_draws_axes_of_words_and_reals_in_the_order_of_the_file(self):
        """Tests words (arrivals) and reals (rates) on x, in rows, in panels and in the names of series."""
        def served(arrivals, rate, wait_ms):
            one = record("contiguous", 8, wait_ms)
            one["settings"]["requested"].update({"arrivals": arrivals, "rate_rps": rate})
            return one
        records = [served(arrivals, rate, 10 * rate + len(arrivals)) for arrivals in ("poisson", "closed", "gamma")
                   for rate in (0.5, 2.0, 4.0)]
        axes = {"arrivals": ["poisson", "closed", "gamma"], "rate_rps": [0.5, 2.0, 4.0], "prompt_tokens": [8]}
        for number, spec in enumerate(({"x": "arrivals", "series": "rate_rps", "log_x": False},
                                       {"x": "rate_rps", "series": "arrivals"},
                                       {"x": "rate_rps", "panels": "arrivals"},
                                       {"family": "map", "x": "rate_rps", "rows": "arrivals"},
                                       {"family": "map", "x": "arrivals", "rows": "rate_rps"})):
            run = manifest(name=f"figure{number}", **spec)
            run["settings"]["axes"] = axes
            done = self.draw(records, run)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(self.figure(f"figure{number}.png").startswith(b"\x89PNG"))
        from common import values_of
        self.assertEqual(values_of(records, run, "arrivals"), ["poisson", "closed", "gamma"])
        self.assertEqual(values_of(list(reversed(records)), run, "rate_rps"), [0.5, 2.0, 4.0])

    def test_names_methods_that_were_left_out(self):
        from common import caption_of
        run = manifest()
        run["left_out"] = [{"method": "torch_naive", "reason": "No libtorch."},
                           {"method": "torch_sdpa", "reason": "No libtorch."}]
        caption = caption_of(document(RECORDS, run), {})
        self.assertIn("Not measured, for want of a library: torch_naive, torch_sdpa.", caption)
        self.assertNotIn("Not measured", caption_of(document(RECORDS, manifest()), {}))

    def test_draws_percentiles_where_samples_support_them(self):
        from common import caption_of, metric_label, metric_of
        records = [record("contiguous", tokens, tokens) for tokens in (8, 16, 32)]
        for one in records[:2]:
            one["metrics"]["ttft_ms"]["p99"] = one["metrics"]["ttft_ms"]["value"] * 3
        records[2]["metrics"]["ttft_ms"]["too_few_for"] = ["p99", "p99.9"]
        self.assertEqual(metric_of(records[0], "ttft_ms.p99"), {"value": 24, "unit": "ms"})
        self.assertIsNone(metric_of(records[2], "ttft_ms.p99"))
        self.assertIsNone(metric_of(records[2], "none.p99"))
        self.assertEqual(metric_label(records, "ttft_ms.p99"), "time to first token, p99 [ms]")
        caption = caption_of(document(records, manifest()), {"y": "ttft_ms.p99"}, has_bands=False)
        self.assertIn("p99 of 3 repetitions;", caption)
        self.assertIn("Left out for want of samples: 1 of 3 points.", caption)
        done = self.draw(records, manifest(y="ttft_ms.p99", name="ttft_ms.p99"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("ttft_ms.p99.png").startswith(b"\x89PNG"))
        done = self.draw(records, manifest(y="ttft_ms.p99.9"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no record has ttft_ms.p99.9 (too few samples)", done.stderr)

    def page_figures(self, records, run, **more):
        """Returns the script's output for a page, made in this process because starting the script takes a second."""
        import warnings
        import matplotlib
        import common
        import page
        import reprise_plot
        whole = common.literal(document(records, run) | more)
        with matplotlib.rc_context(page.LOOK), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return [reprise_plot.part_of_page(whole, spec) for spec in whole["run"]["plots"]]

    def test_prints_the_parts_of_a_page(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(document(RECORDS, manifest()) | {"prefix": "r1-"}, file)
            file.flush()
            done = self.run_script(file.name, "--page")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(json.loads(done.stdout)["figures"], self.page_figures(RECORDS, manifest(), prefix="r1-"))
            self.assertEqual(self.run_script(file.name).returncode, 2)
            self.assertEqual(self.run_script(file.name, "--page", "--out", "x").returncode, 2)

    def test_a_figure_for_a_page_takes_its_ink_from_there(self):
        one, = self.page_figures(RECORDS, manifest(), prefix="r1-")
        self.assertEqual((one["name"], one["title"]), ("ttft_ms", "A title"))
        self.assertEqual(one["caption"], "Median of 3 repetitions, band: quartiles.")
        root = ElementTree.fromstring(one["svg"])
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertTrue(all(name.startswith("r1-ttft_ms-") for name in ids))
        self.assertIn("currentColor", one["svg"])
        for text in ("<style", "<metadata", "<!--", "http://www.w3.org/1999", "#010101", 'href="#D'):
            self.assertNotIn(text, one["svg"])
        words = ["".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("time to first token [ms]", words)
        self.assertEqual(root.get("role"), "img")
        again, = self.page_figures(RECORDS, manifest(), prefix="r1-")
        self.assertEqual(again["svg"], one["svg"])

    def test_labels_are_never_mathematics_or_markup(self):
        for name in ("$x^2$", "a$b", r"\alpha$", "<b>&amp;</b>", "]]>"):
            records = [record(name, tokens, 1.0) for tokens in (8, 16)]
            one, = self.page_figures(records, manifest(title=name))
            self.assertEqual(one["title"], name)
            self.assertIn(name, "".join(ElementTree.fromstring(one["svg"]).itertext()))

    def test_dollar_signs_are_drawn_in_files_too(self):
        records = [record("$x^2$ a$b", tokens, 1.0) for tokens in (8, 16)]
        self.assertEqual(self.draw(records, manifest(title=r"$\alpha$ $")).returncode, 0)

    def test_what_cannot_be_drawn_costs_no_other_figure_of_the_page(self):
        run = attention_manifest(family="map", rows="batch", name="map")
        run["plots"] += [dict(run["plots"][0], name="clash", panels=""), dict(run["plots"][0], name="none", y="tpot_ms"),
                         dict(run["plots"][0], name="pie", family="pie"), {"family": "lines", "name": "bad", "x": "batch", "y": "speedup", "title": "", "series": "method"}]
        figures = {one["name"]: one for one in self.page_figures(ATTENTION, run)}
        self.assertIn("svg", figures["map"])
        self.assertIn("several records share one place", figures["clash"]["problem"])
        self.assertIn("no record has tpot_ms", figures["none"]["problem"])
        self.assertIn("unknown family pie", figures["pie"]["problem"])
        self.assertIn("cannot be drawn", figures["bad"]["problem"])

    def test_what_cannot_be_drawn_costs_no_other_file(self):
        run = manifest(name="bad", x="none")
        run["plots"] += [dict(manifest()["plots"][0], family="pie", name="pie"), dict(manifest()["plots"][0], name="good")]
        done = self.draw(RECORDS, run)
        self.assertEqual(done.returncode, 1)
        self.assertIn("figure bad cannot be drawn", done.stderr)
        self.assertIn("figure pie: unknown family pie", done.stderr)
        self.assertTrue(self.figure("good.png").startswith(b"\x89PNG"))

    def test_characters_that_xml_forbids_are_dropped(self):
        records = [record("a\ufffeb\x01", tokens, 1.0) for tokens in (8, 16)]
        one, = self.page_figures(records, manifest(title="\uffffT"))
        self.assertEqual(one["title"], "T")
        self.assertIn("ab", "".join(ElementTree.fromstring(one["svg"]).itertext()))

    def test_a_huge_figure_is_a_png(self):
        import page
        few, many = RECORDS, [record(f"method {i}", tokens, i + tokens) for i in range(40) for tokens in range(1, 120)]
        self.assertIn("svg", self.page_figures(few, manifest())[0])
        one, = self.page_figures(many, manifest())
        self.assertNotIn("svg", one)
        self.assertLess(len(one["png"]), 3 * page.MOST_SVG_BYTES)

    def test_the_front_is_what_no_other_point_beats(self):
        from pareto import front_of
        points = [(1, 5), (2, 3), (2, 4), (3, 6), (4, 6), (4, 9)]
        self.assertEqual(front_of(points), [(2, 3), (4, 6)])
        self.assertEqual(front_of([]), [])
        self.assertEqual(front_of([(1, 1), (1, 1)]), [(1, 1)])

    def test_draws_throughput_against_latency(self):
        def served(method, rate, latency_ms, **more):
            one = record(method, 8, latency_ms) | more
            one["settings"]["requested"]["rate_rps"] = rate
            one["metrics"]["throughput_rps"] = {"value": rate, "unit": "1/s"}
            return one
        records = [served("paged", 1, 5.0), served("paged", 2, 9.0), served("relay_attention", 2, 4.0),
                   served("relay_attention", 4, 2.0, invalid="too short")]
        for one in records[:3]:
            one["reservations"] = ["a run is VALID by lowered limits: 20 requests instead of 100"]
        records[1]["reservations"].append("the queue grew to the last arrival")
        run = manifest(family="pareto", x="rate_rps", against="throughput_rps", name="front", log_x=False, panels="")
        run["settings"]["axes"] = {"rate_rps": [1, 2, 4]}
        one, = self.page_figures(records, run)
        self.assertIn("On the front, by request rate: relay_attention at 2", one["caption"])
        self.assertNotIn("at 4", one["caption"])  # INVALID
        self.assertIn("crossed out: 1 of 4 points", one["caption"])
        self.assertIn("lowered limits: 20 requests instead of 100: 3 of 4 points.", one["caption"])
        self.assertIn("The queue grew to the last arrival: 1 of 4 points.", one["caption"])
        text = "".join(ElementTree.fromstring(one["svg"]).itertext())
        for word in ("INVALID", "Pareto front", "throughput [1/s]"):
            self.assertIn(word, text)
        self.assertEqual(self.page_figures(records[:2], dict(run, plots=[dict(run["plots"][0], y="none")]))[0]["problem"],
                         "no record has none: figure front is left out")

    def test_leaves_out_a_metric_nobody_took(self):
        done = self.draw(RECORDS[:1], manifest(y="tpot_ms"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out", done.stderr)

    def test_a_stack_that_nobody_has_names_its_parts(self):
        done = self.draw(RECORDS, manifest(family="stack", stack=["a_ms", "b_ms"], y="parts", name="parts"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no record has two of a_ms, b_ms: figure parts is left out", done.stderr)


if __name__ == "__main__":
    unittest.main()
