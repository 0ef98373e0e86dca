"""Tests the parts of the page of `reprise report`: escaped texts, tables and their bounds, figures of request rates.
tests/app/report tests whole pages."""
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

import rate_figures
from report import changes, provenance, render, texts, validity
from report.escape import visible
from report.table import MOST_CELLS, MOST_ROWS, Cell, Column, Table


def filled(template, **values):
    return render.environment().from_string(template).render(**values)


def written(table):
    return filled('{% from "macros.html" import data_table %}{{ data_table(table) }}', table=table)


class Escape(unittest.TestCase):
    def shown(self, text):
        return filled("{{ text }}", text=text)

    def test_nothing_of_a_text_is_markup(self):
        self.assertEqual(self.shown("<script>\"a\" & 'b'</script>"),
                         "&lt;script&gt;&#34;a&#34; &amp; &#39;b&#39;&lt;/script&gt;")
        self.assertEqual(self.shown(""), "")
        self.assertEqual(self.shown("größe 日本 😀"), "größe 日本 😀")
        self.assertEqual(self.shown("{{ 7 * 7 }}"), "{{ 7 * 7 }}")

    def test_what_would_mislead_is_written_out(self):
        self.assertEqual(visible("a\nb\x1b[31m\x7f"), "a\\nb\\x1b[31m\\x7f")
        self.assertEqual(visible("\r\t\0\x9f"), "\\r\\t\\x00\\xc2\\x9f")
        self.assertEqual(visible("exe.\u202egnp"), "exe.\\u202egnp")
        self.assertEqual(visible("\u2066\u200f\u061c\u2028"), "\\u2066\\u200f\\u061c\\u2028")
        self.assertEqual(visible("\uffff\uffff"), "\\uffff\\uffff")
        # Neighbours of the characters above stay unchanged.
        neighbours = "\u200d\u2010\u2027\u202f\u2065\u206a\ufffd\u061b"
        self.assertEqual(visible(neighbours), neighbours)

    def test_values_of_attributes_are_escaped(self):
        self.assertEqual(filled('{% from "macros.html" import attribute %}<p{{ attribute("title", text) }}>', text="a\"b\n"),
                         '<p title="a&#34;b\\n">')

    def test_what_a_template_is_not_given_is_an_error(self):
        with self.assertRaises(render.jinja2.UndefinedError):
            filled("{{ nothing }}")


class Tables(unittest.TestCase):
    def test_cells_carry_what_they_are_sorted_by(self):
        text = written(Table("t", "A <caption>", [Column("name", "a \"help\""), Column("ms", "", True, True)],
                             [[Cell("<b>"), Cell("1.23", "1 to 2", 1.2345678)]]))
        for part in ('<th scope="col" title="a &#34;help&#34;">name</th>', "<td>&lt;b&gt;</td>",
                     '<td data-v="1.2345678" class="n extra">1.23 <small>1 to 2</small></td>',
                     "A &lt;caption&gt;", "all columns (1 more)", 'id="t-all"'):
            self.assertIn(part, text)
        self.assertIn('data-v="0"', written(Table("t", "", [Column("a")], [[Cell("0", number=0)]])))

    def test_without_extra_columns_there_is_no_switch_and_without_rows_nothing(self):
        self.assertEqual(written(Table("t", "", [Column("a")])).strip(), "")
        self.assertNotIn("checkbox", written(Table("t", "", [Column("a")], [[Cell("1")]])))

    def test_is_bounded_by_rows_and_by_cells(self):
        table = Table("t", "", [Column("a")], [[Cell("1")]] * MOST_ROWS, "The rest is elsewhere.")
        self.assertEqual(written(table).count("<td>"), MOST_ROWS)
        self.assertNotIn("elsewhere", written(table))
        table.rows.append([Cell("1")])
        self.assertEqual(written(table).count("<td>"), MOST_ROWS)
        self.assertIn("The first 1000 of 1001 rows", written(table))
        self.assertIn("The rest is elsewhere.", written(table))
        wide = Table("t", "", [Column("a")] * (MOST_CELLS // 10), [[Cell("1")] * (MOST_CELLS // 10)] * 20)
        self.assertEqual(written(wide).count("<td>"), MOST_CELLS)


class Remarks(unittest.TestCase):
    def test_a_page_does_not_name_a_command_that_prints_no_remarks(self):
        report = {"id": "r", "source": "out/a", "keys": [], "records": [{"remarks": ["noisy"]}], "facts": [{"settings": {}}]}
        table = validity.remarks_table(report)
        self.assertEqual(len(table.rows), 1)
        self.assertEqual(table.remedy, "All of them are in the records of out/a.")


class Texts(unittest.TestCase):
    def test_a_note_writes_names_between_backticks(self):
        for note, parts in (("a", [("a", False)]), ("a `b` c", [("a ", False), ("b", True), (" c", False)]),
                            ("a `b", [("a `b", False)]),
                            ("`a` `b", [("", False), ("a", True), (" `b", False)])):
            self.assertEqual(texts.note_parts(note), parts)

    def test_values_are_texts_or_their_json(self):
        self.assertEqual(texts.listed({"a": "ü", "b": {"c": [1, 2.0, None, True]}}), 'a ü, b {"c":[1,2.0,null,true]}')

    def test_a_line_ends_with_a_newline_alone(self):
        self.assertEqual(texts.lines_of("a\u2028b\nc\n"), ["a\u2028b", "c"])
        self.assertEqual(texts.lines_of(""), [])


class Provenance(unittest.TestCase):
    def pauses(self, *times):
        return provenance.pauses_text([{"started_at": f"2026-01-31T{begin}Z", "ended_at": f"2026-01-31T{end}Z"}
                                       for begin, end in times])

    def test_a_pause_is_counted_from_the_end_of_all_points_so_far(self):
        long, inside, later = ("00:00:00.1", "02:00:00"), ("00:10:00", "00:11:00"), ("02:04:00", "02:05:00")
        self.assertEqual(self.pauses(later, inside, long), "")
        self.assertEqual(self.pauses(inside, later), "1 of more than 5 min, the longest 113 min: the run was ended and "
                                                     "resumed, or waited")
        self.assertIn("the longest 2.2 h", self.pauses(("00:00:00", "00:00:01"), ("02:10:00", "02:10:01")))
        self.assertEqual(provenance.pauses_text([{"started_at": "yesterday"}, {}]), "")

    def test_files_are_told_with_the_way_to_them(self):
        self.assertEqual(provenance.files_text({"sources": {"models": {"a": {"config": "12", "sizes": [3, 4]}}}}),
                         "models a config 12, models a sizes 0 3, models a sizes 1 4")
        many = provenance.files_text({"sources": {str(i): i for i in range(100)}})
        self.assertEqual(len(many.split(", ")), provenance.MOST_FILES)


class Changes(unittest.TestCase):
    def test_intervals_are_told_as_far_as_there_are_any(self):
        self.assertEqual(changes.interval_text(None), "")
        self.assertEqual(changes.interval_text([]), "too few samples")
        self.assertEqual(changes.interval_text([0.95, 1.25]), "0.950 to 1.250")
        self.assertEqual(changes.range_text([1.0, 3.0, 1.5, 1.0]), "1.250 (1.000 to 3.000)")
        self.assertEqual(changes.range_text([]), "-")

    def test_invalid_runs_do_not_count_in_the_tally(self):
        those = [{"ratio": ratio, "verdict": verdict}
                 for ratio, verdict in ((1.0, "same"), (100.0, "INVALID run"), (None, "same"))]
        cells = changes.tally_row(("paged", "ttft_ms"), those, ["same", "INVALID run"])
        self.assertEqual([cell.text for cell in cells], ["paged", "ttft_ms", "1.000 (1.000 to 1.000)", "2", "1"])

    def test_variants_of_a_method_have_a_row_each_in_the_tally(self):
        facts = [{"settings": {"method": "prompt_cache", "method_options": options}} for options in ("{}", '{"tier":"disk"}')]
        both = {"before": {"id": "a"}, "after": {"id": "b", "keys": ["method", "method_options"], "facts": facts},
                "metrics": [{"point": point, "metric": "ttft_ms", "ratio": ratio, "verdict": verdict}
                            for point, ratio, verdict in ((0, 1.0, "same"), (1, 1.8, "worse"))]}
        rows = changes.tally_table(both).rows
        self.assertEqual([row[0].text for row in rows], ['prompt_cache {"tier":"disk"}', "prompt_cache {}"])
        self.assertEqual([row[2].text for row in rows], ["1.800 (1.800 to 1.800)", "1.000 (1.000 to 1.000)"])

    def test_settings_that_one_folder_sweeps_come_first(self):
        both = {"before": {"keys": ["batch", "method"]}, "after": {"keys": ["dtype", "batch", "rate", "method"]}}
        self.assertEqual(changes.keys_of_both(both), ["rate", "dtype", "batch", "method"])


class RateFigures(unittest.TestCase):
    def added(self, axes, plots):
        metrics = {"ttft_ms": {"value": 3, "unit": "ms", "p99": 9.0}, "tpot_ms": {"value": 3, "unit": "ms"},
                   "throughput_rps": {"value": 2, "unit": "1/s"}}
        run = {"settings": {"axes": axes}, "plots": plots, "axis_units": {"arrival_rate": "1/s", "length": "1/s"}}
        return rate_figures.rate_figures(run, [{"metrics": metrics}])

    def names(self, axes, plots=()):
        return [figure["name"] for figure in self.added(axes, list(plots))]

    def test_are_added_to_a_sweep_of_rates_alone(self):
        rates = {"rate_rps": [1, 2.5], "shared_tokens": [0, 64]}
        self.assertEqual(self.names(rates), ["report_ttft_ms", "report_ttft_ms.p99", "report_tpot_ms", "report_pareto"])
        own = {"family": "lines", "x": "rate_rps", "y": "ttft_ms", "name": "own"}
        self.assertEqual(self.names(rates, [own]), ["report_ttft_ms.p99", "report_tpot_ms", "report_pareto"])
        self.assertEqual(self.names({"rate_rps": [1], "batch": [1, 2]}), [])
        self.assertEqual(self.names({"rate_rps": ["a", "b"]}), [])
        self.assertEqual(self.names({"length": [1, 2]}), [])
        self.assertEqual(len(self.names({"arrival_rate": [1, 2]})), 4)

    def test_a_record_without_a_rate_is_named(self):
        spec, = self.added({"rate_rps": [1, 2], "few": ["a", "b"]}, [])[:1]
        for value, few, text in ((1, "a", ""), (2.5, 3, ""), (None, "a", "has null for \"settings.requested.rate_rps\""),
                                 (True, "a", "has true"), ("fast", "a", "needs a number"), (1, None, "settings.requested.few"),
                                 (1, [1], "needs a value. Delete that record, or measure anew with --fresh.")):
            one = {"point": "p", "metrics": {"ttft_ms": {"value": 3}},
                   "settings": {"requested": {"rate_rps": value, "few": few}}}
            fault = rate_figures.misplaced([one], spec)
            self.assertEqual(bool(fault), bool(text), fault)
            self.assertIn(text, fault)
            self.assertEqual(rate_figures.misplaced([one | {"metrics": {}}], spec), "")

    def test_have_names_and_panels_of_their_own(self):
        own = {"family": "map", "x": "rate_rps", "y": "ttft_ms", "name": "report_ttft_ms"}
        first, *_, front = self.added({"rate_rps": [1, 2], "few": ["a", "b"], "many": [1, 2, 3, 4, 5]}, [own])
        self.assertEqual((first["name"], first["panels"]), ("report_ttft_ms_", "few"))
        self.assertEqual((front["family"], front["y"], front["against"]), ("pareto", "ttft_ms", "throughput_rps"))


if __name__ == "__main__":
    unittest.main()
