#!/usr/bin/env python3
"""frames_test.py TREE: tests the tables of pandas and Arrow that the package reprise makes; columns_test.py tests their
values."""
import importlib.util
import math
import pathlib
import sys
import unittest
import unittest.mock

import pandas

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TREE / "python"))
import reprise  # noqa: E402  (in another folder of the tree)
from reprise import columns, frames, record_reader  # noqa: E402

MEASUREMENTS = TREE / "results/measurements"
FILES = [MEASUREMENTS / f"{name}.jsonl.gz" for name in ("cpu_quickstart", "cpu_serving_tree_desk", "cpu_paged_epyc",
                                                        "recall_accuracy")]


def expected():
    return columns.table_of([(file, record_reader.points_of(file)) for file in FILES])


def is_missing(value):
    return value is None or value is pandas.NA or (isinstance(value, float) and math.isnan(value))


class Records(unittest.TestCase):
    def assert_equal_columns(self, table, value_at):
        for name, values in table.items():
            for row, value in enumerate(values):
                found = value_at(name, row)
                with self.subTest(column=name, row=row):
                    if value is None:
                        self.assertTrue(is_missing(found), found)
                    elif isinstance(value, str) or isinstance(found, str):
                        self.assertEqual(found, columns.text_of(value))
                    else:
                        self.assertEqual(found, value)

    def test_pandas(self):
        frame, table = reprise.records(*FILES), expected()
        self.assertEqual(list(frame.columns), list(table))
        lists = {name: list(frame[name]) for name in table}
        self.assert_equal_columns(table, lambda name, row: lists[name][row])
        self.assertEqual(str(frame["tpot_ms"].dtype), "float64")
        self.assertEqual(str(frame["threads"].dtype), "int64")
        self.assertEqual(str(frame["batch"].dtype), "Int64")   # the quickstart has no such axis
        rows = frame[frame["experiment"] == "quickstart"].groupby("label")["tpot_ms"].median()
        self.assertLess(rows["contiguous"], rows["recompute"])

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "no pyarrow: python3 -m pip install pyarrow")
    def test_arrow(self):
        arrow, table = reprise.records(*FILES, as_arrow=True), expected()
        self.assertEqual(arrow.column_names, list(table))
        lists = arrow.to_pydict()
        self.assert_equal_columns(table, lambda name, row: lists[name][row])
        self.assertEqual(str(arrow.schema.field("batch").type), "int64")

    def test_a_column_of_several_types_is_text(self):
        frame = frames.data_frame({"mixed": [1, "a", None, True], "none": [None] * 4, "whole": [2**53 + 1, None] * 2,
                                   "real": [1, 0.5] * 2, "yes": [True, None] * 2, "all": [True, False] * 2})
        self.assertEqual(list(frame["mixed"][:2]), ["1", "a"])
        self.assertEqual(frame["mixed"][3], "true")
        self.assertTrue(frame["none"].isna().all())
        self.assertEqual(frame["whole"][0], 2**53 + 1)
        self.assertEqual(list(frame["real"]), [1.0, 0.5] * 2)
        self.assertEqual((str(frame["yes"].dtype), str(frame["all"].dtype)), ("boolean", "bool"))

    def test_chosen_metrics_and_percentiles(self):
        frame = reprise.records(FILES[1], metrics=["ttft_ms.p90", "throughput_rps"])
        self.assertIn("ttft_ms.p90_low", frame)
        self.assertNotIn("ttft_ms", frame)
        with self.assertRaisesRegex(ValueError, "\"tft_ms.p90\"; there are: .*ttft_ms"):
            reprise.records(FILES[1], metrics=["tft_ms.p90"])
        with self.assertRaisesRegex(ValueError, "name ttft_ms twice"):
            reprise.records(FILES[1], metrics=["ttft_ms", "ttft_ms"])


class Samples(unittest.TestCase):
    def test_each_sample_is_a_row_in_the_order_it_was_taken(self):
        frame = reprise.samples(*FILES)
        self.assertEqual(tuple(frame.columns), frames.SAMPLE_COLUMNS)
        rest = frame
        for file in FILES:
            for record in record_reader.points_of(file):
                for metric, values in record["samples"].items():
                    first, rest = rest[:len(values)], rest[len(values):]
                    self.assertEqual(list(first["value"]), values)
                    self.assertEqual(list(first["index"]), list(range(len(values))))
                    same = set(zip(first["source"], first["point"], first["metric"], first["unit"]))
                    self.assertLessEqual(same, {(str(file), record["point"], metric, record["metrics"][metric]["unit"])})
        self.assertEqual(len(rest), 0)

    def test_medians_of_samples_are_the_records_values(self):
        points = reprise.records(FILES[0]).set_index("point")["ttft_ms"]
        samples = reprise.samples(FILES[0], metrics=["ttft_ms"])
        self.assertEqual(set(samples["metric"]), {"ttft_ms"})
        self.assertEqual(dict(samples.groupby("point")["value"].median()), dict(points))
        with self.assertRaisesRegex(ValueError, "\"ttft\""):
            reprise.samples(FILES[0], metrics=["ttft"])
        with self.assertRaisesRegex(ValueError, "not to its percentile \"ttft_ms.p99\": name \"ttft_ms\""):
            reprise.samples(FILES[0], metrics=["ttft_ms.p99"])
        with self.assertRaisesRegex(ValueError, "name ttft_ms twice"):
            reprise.samples(FILES[0], metrics=["ttft_ms", "ttft_ms"])


class Libraries(unittest.TestCase):
    def test_a_library_that_is_missing_is_named_with_the_remedy(self):
        for name, as_arrow in (("pandas", False), ("pyarrow", True)):
            with unittest.mock.patch.dict(sys.modules, {name: None}):
                with self.assertRaisesRegex(ImportError, f"needs {name}.*pip install {name}"):
                    reprise.records(FILES[0], as_arrow=as_arrow)


unittest.main()
