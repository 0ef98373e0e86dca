#!/usr/bin/env python3
"""pack_record_test.py FOLDER: tests that tools/pack_record.py loses nothing, gives the same bytes again, and refuses
incomplete runs; and that python/reprise/record_reader.py reads its files and describes the fault of a damaged one."""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TREE / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)


def record(point, group, index, of, cpu="made up"):
    return {"schema": 1, "experiment": {"name": "sample", "kind": "ttft"}, "point": point,
            "group": {"id": group, "index": index, "of": of}, "config_hash": "aa",
            "settings": {"requested": {"method": "paged", "note": "a\u2028b \u00e4"}}, "metrics": {"t": {"value": 0.1 + 0.2}},
            "samples": {"t": [1e-9, 12345678901234567, 1.0, -0.0]},
            "machine": {"cpu": cpu, "fetch": {"bf16": {"trials": list(range(200))}}}, "provenance": {"revision": "0"}}


RECORDS = [record("p0", "g0", 0, 2), record("p1", "g0", 1, 2), record("p2", "g1", 0, 1), record("p3", "g2", 0, 1, "another")]


def text_of(records):
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)


class PackRecord(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "packed.jsonl.gz"

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def pack(self, source, out=None, *options):
        return subprocess.run([sys.executable, TREE / "tools/pack_record.py", *options, source, out or self.out],
                              capture_output=True, text=True)

    def packed(self, source, *options):
        done = self.pack(source, None, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return record_reader.read_records(self.out)

    def refused(self, source, *words, out=None):
        done = self.pack(source, out)
        self.assertEqual(done.returncode, 1, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(self.out.exists())
        self.assertEqual(list(self.folder.glob("*.unfinished")), [])

    def test_records_are_as_they_were_and_a_machine_stands_once(self):
        found = self.packed(self.write("records.jsonl", text_of(RECORDS)))
        for one, other in zip(found, RECORDS, strict=True):
            self.assertEqual(json.dumps(one | {"schema": 1}, sort_keys=True), json.dumps(other, sort_keys=True))
        text = gzip.decompress(self.out.read_bytes()).decode("utf-8")
        self.assertEqual(text.count('"trials"'), 2)   # of two machines
        self.assertEqual(text.count("\n"), len(RECORDS) + 2)

    def test_samples_and_nothing_else_are_rounded_to_the_digits_that_are_asked_for(self):
        those = json.loads(json.dumps(RECORDS))
        for one in those:
            one["samples"] = {"t": [0.1 + 0.2, 1234.56785, 1e-9 / 3, 12345678901234567, -0.0], "none": []}
        for one in self.packed(self.write("records.jsonl", text_of(those)), "--sample-digits", "7"):
            self.assertEqual(one["samples"], {"t": [0.3, 1234.568, 3.333333e-10, 12345678901234567, -0.0], "none": []})
            self.assertEqual(one["metrics"], RECORDS[0]["metrics"])
        self.assertEqual(self.pack(self.folder / "records.jsonl", None, "--sample-digits", "6").returncode, 2)

    def test_the_same_records_give_the_same_bytes(self):
        self.packed(self.write("records.jsonl", text_of(RECORDS)))
        first = self.out.read_bytes()
        self.assertEqual(first[3:8], bytes(5))   # no name in the header, no time
        again = self.folder / "again.jsonl.gz"
        self.assertEqual(self.pack(self.out, again).returncode, 0)
        self.assertEqual(again.read_bytes(), first)

    def test_a_folder_of_several_writers_is_one_file_with_each_point_once(self):
        self.write("run/records-1of2.jsonl", text_of(RECORDS[:2]))
        self.write("run/records-2of2.jsonl", text_of(RECORDS))
        self.assertEqual([one["point"] for one in self.packed(self.folder / "run")], ["p0", "p1", "p2", "p3"])

    def test_the_records_of_a_folder_get_the_labels_of_its_run(self):
        those = json.loads(json.dumps(RECORDS))
        for one in those:
            one["settings"]["resolved"] = {"method_label": "earlier"}
        self.write("run/records.jsonl", text_of(those))
        self.write("run/run.json", json.dumps({"settings": {"methods": [{"name": "paged"}]}, "labels": ["later"]}))
        labels = {one["settings"]["resolved"]["method_label"] for one in self.packed(self.folder / "run")}
        self.assertEqual(labels, {"later"})

    def test_records_of_other_settings_than_the_folders_are_refused(self):
        self.write("run/records.jsonl", text_of(RECORDS))
        self.write("run/run.json", json.dumps({"config_hash": "bb"}))
        self.refused(self.folder / "run", "records.jsonl has records of other settings", "experiment sample (config_hash aa")

    def test_other_files_are_packed_as_they_are(self):
        for name, text in (("resources.jsonl", '{"kernel": "a"}\n'), ("bench.json", '{"a":  1}\n')):
            out = self.folder / (name + ".gz")
            self.assertEqual(self.pack(self.write(name, text), out).returncode, 0)
            self.assertEqual(record_reader.read_text(out), text)

    def test_what_is_no_whole_run_is_refused(self):
        self.refused(self.write("a.jsonl", text_of(RECORDS[:1])), "a.jsonl", "1 of its 2 records", "finish the run")
        self.refused(self.write("b.jsonl", text_of(RECORDS)[:-30]), "b.jsonl line 4")
        self.refused(self.write("c.jsonl", ""), "holds no record")
        self.refused(self.folder / "absent.jsonl", "absent.jsonl")
        (self.folder / "empty").mkdir()
        self.refused(self.folder / "empty", "holds no record")
        self.refused(self.write("d.jsonl", text_of(RECORDS)), "must end in .jsonl.gz", out=self.folder / "d.gz")
        self.refused(self.write("e.jsonl", '{"schema": 2, "run": "x", "point": "p"}\n'), "e.jsonl line 1", "no line before it")

    def test_damaged_packed_files_are_errors_that_name_file_and_remedy(self):
        self.packed(self.write("records.jsonl", text_of(RECORDS)))
        good = self.out.read_bytes()
        for bad, words in ((good[:-9], "is cut short"), (b"", "is cut short"), (b"{}" + good, "is damaged or no gzip file"),
                           (good[:30] + bytes(8) + good[38:], "is damaged")):
            self.out.write_bytes(bad)
            with self.assertRaisesRegex(ValueError, f"packed.jsonl.gz {words}.*Copy it again"):
                record_reader.read_records(self.out)

    def test_what_unpacks_to_too_much_is_refused(self):
        bomb = gzip.compress(bytes(1 << 20))
        self.assertEqual(len(record_reader.unpacked(bomb, "a.gz", 1 << 20)), 1 << 20)
        with self.assertRaisesRegex(ValueError, "a.gz unpacks to more than the 1000000 bytes"):
            record_reader.unpacked(bomb, "a.gz", 1000000)
        with self.assertRaisesRegex(ValueError, "more than"):
            record_reader.unpacked(gzip.compress(b"a" * 600) * 2, "a.gz", 1000)


unittest.main()
