#!/usr/bin/env python3
"""views_test.py TREE: tests that the views of views.sql hold in DuckDB what columns.py reads from the same files."""
import gzip
import json
import pathlib
import sys
import tempfile
import unittest

import duckdb

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(TREE / "python"), str(TREE / "tests/app/report")]
import made_results  # noqa: E402  (in another folder of the tree)
import reprise  # noqa: E402
from reprise import columns, record_reader  # noqa: E402

MEASUREMENTS = TREE / "results/measurements"


class Views(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="it's ")   # a quote in a path must not end a text in SQL
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_same(self, *sources):
        database = duckdb.connect()
        database.execute(reprise.views(*sources))
        read = [(source, record_reader.points_of(source)) for source in sources]
        self.assert_points(database, columns.table_of(read))
        metrics, samples = set(), []
        for source, those in read:
            for record in those:
                for metric in record["metrics"]:
                    shown = columns.shown_metric(record["metrics"], metric)
                    metrics.add((str(source), record["point"], metric,
                                 *(shown.get(key) for key in ("value", "unit", "q1", "q3", "low", "high"))))
                samples += [(str(source), record["point"], metric, index, value)
                            for metric, values in record["samples"].items() for index, value in enumerate(values)]
        found = database.execute("SELECT source, point, metric, value, unit, q1, q3, low, high FROM metrics").fetchall()
        self.assertEqual(len(found), len(metrics))
        self.assertEqual(set(found), metrics)
        found = database.execute("SELECT source, point, metric, index, value FROM samples").fetchall()
        self.assertEqual(sorted(found), sorted(samples))
        return database

    def assert_points(self, database, table):
        names = [name for name in (*columns.ORIGIN, *columns.FACTS) if name != "warnings"]
        quoted = ", ".join(f'"{name}"' for name in names)
        rows = database.execute(f"SELECT {quoted}, settings FROM points").fetchall()
        self.assertEqual(len(rows), len(table["point"]))
        for row, found in enumerate(rows):
            self.assertEqual(dict(zip(names, found)), {name: table[name][row] for name in names})
            settings = columns.settings_of({"settings": {"requested": json.loads(found[-1])}})
            self.assertEqual(settings, {name: table[name][row] for name in settings})

    def test_committed_records(self):
        files = sorted(set(MEASUREMENTS.glob("*.jsonl.gz")) - set(MEASUREMENTS.glob("cuda_*")))   # cuda_*: no records of runs
        database = self.assert_same(*files)
        count = database.execute("SELECT count(DISTINCT source) FROM points").fetchone()[0]
        self.assertEqual(count, len(files))

    def test_folders_of_one_writer_and_of_several_packed_or_not(self):
        one = pathlib.Path(made_results.serving_folder(self.folder / "one"))
        several = pathlib.Path(made_results.serving_folder(self.folder / "several", slower=2.0))
        lines = (several / "records.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (several / "records.jsonl").unlink()
        (several / "records-1of2.jsonl").write_text("".join(lines[:4]), encoding="utf-8")
        (several / "records-2of2.jsonl.gz").write_bytes(gzip.compress("".join(lines[2:]).encode()))
        database = self.assert_same(one, several)
        medians = dict(database.execute("SELECT source, median(value) FROM samples GROUP BY source").fetchall())
        self.assertAlmostEqual(medians[str(several)] / medians[str(one)], 2.0)

    def test_names_of_folders_are_no_patterns(self):
        for name in ("seed[1]", "seed*", "seed?", "seed1"):
            made_results.serving_folder(self.folder / name)
        self.assert_same(self.folder / "seed[1]", self.folder / "seed*", self.folder / "seed?")

    def test_the_file_alone_is_enough(self):
        """Reads views.sql as the DuckDB shell does, without Python."""
        database = duckdb.connect()
        database.execute(f"SET VARIABLE reprise_files = ['{MEASUREMENTS / 'cpu_quickstart.jsonl.gz'}']")
        database.execute((TREE / "python/reprise/views.sql").read_text(encoding="utf-8"))
        rows = database.execute("""SELECT label, (settings->>'$.prompt_tokens')::INT AS prompt_tokens,
                                          (metrics->>'$.ttft_ms.value')::DOUBLE FROM points ORDER BY ALL""").fetchall()
        table = columns.table_of([("", record_reader.points_of(MEASUREMENTS / "cpu_quickstart.jsonl.gz"))])
        self.assertEqual(rows, sorted(zip(table["label"], table["prompt_tokens"], table["ttft_ms"])))

    def test_a_folder_without_records_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "holds no records.jsonl"):
            reprise.views(self.folder)


unittest.main()
