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


def attention_record(index, method, batch, shared, heads=32):
    """A point of a sweep over two axes and panels; the second method is faster where much is shared."""
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


class PlotTest(unittest.TestCase):
    def draw(self, lines, run, paper=None, skipped=None):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(self.folder.name, "run.json"), "w", encoding="utf-8") as file:
            json.dump(run, file)
        with open(os.path.join(self.folder.name, "records.jsonl"), "w", encoding="utf-8") as file:
            file.write(lines)
        if paper is not None:
            with open(os.path.join(self.folder.name, "paper.json"), "w", encoding="utf-8") as file:
                json.dump(paper, file)
        if skipped is not None:
            with open(os.path.join(self.folder.name, "skipped.json"), "w", encoding="utf-8") as file:
                json.dump(skipped, file)
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

    def test_draws_panels_theory_and_the_papers_numbers(self):
        paper = {"caption": "Paper, table 1", "points": {
            "relay_attention 8 512 4": {"speedup": {"value": 3.0, "unit": "ratio"}}}}
        done = self.draw("".join(json.dumps(r) + "\n" for r in ATTENTION),
                         attention_manifest(reference="relay_theory_speedup", name="lines"), paper)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("lines.png").startswith(b"\x89PNG"))

    def test_draws_maps_and_refuses_two_records_in_one_place(self):
        run = attention_manifest(family="map", rows="batch", name="map")
        done = self.draw("".join(json.dumps(r) + "\n" for r in ATTENTION), run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("map.png").startswith(b"\x89PNG"))
        run["plots"][0]["panels"] = ""
        done = self.draw("".join(json.dumps(r) + "\n" for r in ATTENTION), run)
        self.assertEqual(done.returncode, 1)
        self.assertIn("panels", done.stderr)

    def test_draws_stacks_of_parts(self):
        run = attention_manifest(family="stack", stack=["shared_us", "private_us"], name="parts")
        done = self.draw("".join(json.dumps(r) + "\n" for r in ATTENTION), run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("parts.png").startswith(b"\x89PNG"))

    def test_writes_figures_where_it_is_told_and_nowhere_else(self):
        lines = "".join(json.dumps(r) + "\n" for r in RECORDS)
        for name in ("../escaped", "/tmp/escaped", "a/b", "", ".hidden", "..", None, 7, "x" * 200, "a\nb"):
            done = self.draw(lines, manifest(name=name))
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("cannot be called", done.stderr)
        self.draw(lines, manifest())
        with tempfile.TemporaryDirectory() as other:
            done = subprocess.run([sys.executable, SCRIPT, self.folder.name, "--out", other], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(other)), ["ttft_ms.pdf", "ttft_ms.png"])

    def test_says_in_a_sentence_what_it_cannot_draw(self):
        """Whatever is wrong with a folder: no traceback, no status 0 without figures."""
        good = "".join(json.dumps(r) + "\n" for r in RECORDS)
        for run in (None, [], {"a": 1}, "text", {"plots": 7, "settings": {}}, {"plots": [{}]}, {"plots": [7]},
                    manifest(x=["list"]), manifest(y={}), manifest(family="pie"), manifest(title=7)):
            done = self.draw(good, run)
            self.assertNotIn("Traceback", done.stderr, run)
            self.assertTrue(done.returncode == 1 or not isinstance(run, dict) or not run.get("plots"), run)
        for change in ({"metrics": None}, {"settings": {}}, {"machine": []}, {"seeds": None}, {"metrics": {"ttft_ms": 3}},
                       {"metrics": {"ttft_ms": {"value": "fast", "unit": "ms"}}}):
            done = self.draw(json.dumps(RECORDS[0] | change) + "\n", manifest())
            self.assertNotIn("Traceback", done.stderr, change)
            self.assertEqual(done.returncode, 1, change)

    def test_names_who_ties_instead_of_one_of_them(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        import heat_map
        grids = {}
        for name, value, low, high in (("paged", 1.0, 1.0, 1.0), ("a", 2.0, 1.8, 2.2), ("b", 1.9, 1.7, 2.1),
                                       ("c", 1.0, 0.9, 1.1)):
            grids[name] = heat_map.Grid((1, 1))
            grids[name].put((0, 0), {"value": value, "q1": low, "q3": high, "iqr": high - low})
        self.assertEqual(heat_map.fastest_of(grids, list(grids), (0, 0)), ["a", "b"])
        grids["b"].put((0, 0), {"value": 1.5, "q1": 1.45, "q3": 1.55, "iqr": 0.1})
        self.assertEqual(heat_map.fastest_of(grids, list(grids), (0, 0)), ["a"])

    def test_ten_methods_have_ten_looks(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        import lines
        styles = lines.styles_of([str(i) for i in range(10)])
        self.assertEqual(len(set(styles.values())), 10)

    def test_a_unit_that_the_name_says_is_not_said_again(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        from common import label_of
        self.assertEqual(label_of("shared_tokens", "tokens"), "shared tokens")
        self.assertEqual(label_of("ttft_ms", "ms"), "time to first token [ms]")

    def test_draws_zeros_on_logarithmic_axes(self):
        zeros = [record("contiguous", tokens, 0.0) for tokens in (8, 16)]
        done = self.draw("".join(json.dumps(r) + "\n" for r in zeros), manifest())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Warning", done.stderr)

    def test_draws_axes_of_words_and_reals_in_the_order_of_the_file(self):
        """Arrivals are words and rates are reals: on x, in rows, in panels and in the names of series."""
        def served(arrivals, rate, wait_ms):
            one = record("contiguous", 8, wait_ms)
            one["settings"]["requested"].update({"arrivals": arrivals, "rate_rps": rate})
            return one
        records = [served(arrivals, rate, 10 * rate + len(arrivals)) for arrivals in ("poisson", "closed", "gamma")
                   for rate in (0.5, 2.0, 4.0)]
        text = "".join(json.dumps(r) + "\n" for r in records)
        axes = {"arrivals": ["poisson", "closed", "gamma"], "rate_rps": [0.5, 2.0, 4.0], "prompt_tokens": [8]}
        for number, spec in enumerate(({"x": "arrivals", "series": "rate_rps", "log_x": False},
                                       {"x": "rate_rps", "series": "arrivals"},
                                       {"x": "rate_rps", "panels": "arrivals"},
                                       {"family": "map", "x": "rate_rps", "rows": "arrivals"},
                                       {"family": "map", "x": "arrivals", "rows": "rate_rps"})):
            run = manifest(name=f"figure{number}", **spec)
            run["settings"]["axes"] = axes
            done = self.draw(text, run)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(self.figure(f"figure{number}.png").startswith(b"\x89PNG"))
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        from common import values_of
        self.assertEqual(values_of(records, run, "arrivals"), ["poisson", "closed", "gamma"])
        self.assertEqual(values_of(list(reversed(records)), run, "rate_rps"), [0.5, 2.0, 4.0])

    def test_names_methods_that_were_left_out(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        from common import caption_of
        run = manifest()
        run["left_out"] = [{"method": "torch_naive", "reason": "No libtorch."},
                           {"method": "torch_sdpa", "reason": "No libtorch."}]
        caption = caption_of(RECORDS, run, {"caption": "", "points": {}})
        self.assertIn("Not measured, for want of a library: torch_naive, torch_sdpa.", caption)
        self.assertNotIn("Not measured", caption_of(RECORDS, manifest(), {"caption": "", "points": {}}))

    def test_captions_say_how_many_points_were_skipped_and_why(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        from common import caption_of, read_skipped

        def skip(point, need_gib):
            return {"point": point, "need_bytes": need_gib * 2**30, "available_bytes": 4 * 2**30, "reason": "..."}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(read_skipped(folder, []), [])
            for name, entries in (("skipped.json", [skip("a", 8), skip("b", 9)]),
                                  ("skipped-1of2.json", [skip("b", 9), skip("c", 52.8)])):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    json.dump(entries, file)
            skipped = read_skipped(folder, [RECORDS[0] | {"point": "a"}])  # which was measured later
            self.assertEqual([entry["point"] for entry in skipped], ["b", "c"])
        paper = {"caption": "", "points": {}}
        self.assertIn(" 2 points were skipped for want of memory: 9.00 to 52.80 GiB needed, 4.00 GiB available.",
                      caption_of(RECORDS, manifest(), paper, skipped=skipped))
        self.assertIn(" 1 point was skipped for want of memory: 9.00 GiB needed, 4.00 GiB available.",
                      caption_of(RECORDS, manifest(), paper, skipped=skipped[:1]))
        self.assertNotIn("skipped", caption_of(RECORDS, manifest(), paper))
        lines = "".join(json.dumps(r) + "\n" for r in RECORDS)
        done = self.draw(lines, manifest(), skipped=skipped)
        self.assertEqual(done.returncode, 0, done.stderr)
        for damaged in (7, [7], [{}], [{"point": "p"}]):
            done = self.draw(lines, manifest(), skipped=damaged)
            self.assertEqual(done.returncode, 1, damaged)
            self.assertNotIn("Traceback", done.stderr)

    def test_draws_percentiles_where_samples_support_them(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        from common import caption_of, metric_label, metric_of
        records = [record("contiguous", tokens, tokens) for tokens in (8, 16, 32)]
        for one in records[:2]:
            one["metrics"]["ttft_ms"]["p99"] = one["metrics"]["ttft_ms"]["value"] * 3
        records[2]["metrics"]["ttft_ms"]["too_few_for"] = ["p99", "p99.9"]
        self.assertEqual(metric_of(records[0], "ttft_ms.p99"), {"value": 24, "unit": "ms"})
        self.assertIsNone(metric_of(records[2], "ttft_ms.p99"))
        self.assertIsNone(metric_of(records[2], "none.p99"))
        self.assertEqual(metric_label(records, "ttft_ms.p99"), "time to first token, p99 [ms]")
        caption = caption_of(records, manifest(), {"caption": "", "points": {}}, has_bands=False, y="ttft_ms.p99")
        self.assertIn("p99 of 3 repetitions;", caption)
        self.assertIn("Left out for want of samples: 1 of 3 points.", caption)
        lines = "".join(json.dumps(r) + "\n" for r in records)
        done = self.draw(lines, manifest(y="ttft_ms.p99", name="ttft_ms.p99"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.figure("ttft_ms.p99.png").startswith(b"\x89PNG"))
        done = self.draw(lines, manifest(y="ttft_ms.p99.9"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no record has ttft_ms.p99.9 (too few samples)", done.stderr)
        records[0]["metrics"]["ttft_ms"]["p99"] = "slow"
        done = self.draw(json.dumps(records[0]) + "\n", manifest())
        self.assertEqual(done.returncode, 1)
        self.assertIn("no number", done.stderr)

    def test_ignores_a_torn_last_line(self):
        done = self.draw(json.dumps(RECORDS[0]) + "\n" + '{"settings": {"req', manifest())
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_reads_the_records_of_several_writers_each_point_once(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        self.addCleanup(sys.path.pop, 0)
        from common import read_records
        with tempfile.TemporaryDirectory() as folder:
            for writer, points in (("1of2", "ab"), ("2of2", "bc")):
                with open(os.path.join(folder, f"records-{writer}.jsonl"), "w", encoding="utf-8") as file:
                    for point in points:
                        file.write(json.dumps(RECORDS[0] | {"point": point, "writer": writer}) + "\n")
                    file.write('{"point": "torn')
            records = read_records(folder)
            self.assertEqual([record["point"] for record in records], ["a", "b", "c"])
            self.assertEqual(records[1]["writer"], "1of2")

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
