#!/usr/bin/env python3
"""documented_figures_test.py FOLDER: tests that each measured number in README.md, docs/
and results/measurements/README.md agrees with its record.

documented_figures.json binds them: a line of a page with {names} for its numbers, and for each name the origin of the
number. The line is filled from the records, and the page must contain the filled line.

    {"page": "README.md", "line": "| none | {a} |",
     "figures": {"a": {"record": "cpu_x.jsonl", "where": {"method": "paged"}, "metric": "latency_us", "scale": 0.001}}}

A figure is one number, or an "op" (min, max, median, sum, count, ratio) over the numbers listed under "of"; "equal" and
"at_least" select among them:
    record   a file of results/measurements, by its name without the .gz of a packed one
    where    of a .jsonl: requested settings that the records have; "metric" and its "key" (value by default)
    path     of a .json: keys, places, {"key": "beginning of its value"} for one of a list, "*" for all of them
    scale    (optional) a factor; complement (optional) the number is this minus it; as (optional) a format of Python's, or "s3": three significant digits, the default

Each row of a table must be bound, or its beginning listed under "rows_without_measurements"; a number in any other row
fails. "unrecorded" lists numbers without a record; the test prints them, and fails for one that has a record.
"""
import functools
import json
import math
import pathlib
import re
import statistics
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TREE / "results"))
import record_reader  # noqa: E402  (the folder is an argument)

BOUND = json.loads((HERE / "documented_figures.json").read_text(encoding="utf-8"))
OPERATIONS = {"min": min, "max": max, "median": statistics.median, "sum": sum, "count": len, "ratio": lambda v: v[0] / v[1]}


def significant(value, digits):
    before = int(math.floor(math.log10(abs(value)))) + 1 if value else 1
    return f"{value:.{max(0, digits - before)}f}"


@functools.cache
def loaded(record):
    """Returns the list of records of a .jsonl file, or the content of a .json file."""
    path = TREE / "results" / "measurements" / record
    packed = path.with_name(record + ".gz")
    path = packed if packed.exists() else path
    return record_reader.read_records(path) if ".jsonl" in record else json.loads(record_reader.read_text(path))


def record_values(spec):
    if spec["record"].endswith(".jsonl"):
        found = [record for record in loaded(spec["record"])
                 if all(record["settings"]["requested"].get(key) == value for key, value in spec["where"].items())]
        values = [record["metrics"][spec["metric"]][spec.get("key", "value")] for record in found
                  if spec["metric"] in record["metrics"]]
    else:
        values = [loaded(spec["record"])]
        for step in spec["path"]:
            values = [next_value for value in values for next_value in steps(value, step)]
    if not values:
        raise AssertionError(f"{spec} selects nothing")
    return values


def steps(value, step):
    if step == "*":
        return list(value.values()) if isinstance(value, dict) else list(value)
    if isinstance(step, dict):
        return [entry for entry in value if all(str(entry.get(key, "")).startswith(begin) for key, begin in step.items())]
    return [value[step]]


def values_of(spec):
    return [figure(spec)[0]] if "op" in spec else record_values(spec)


def figure(spec):
    """Returns the number and its text."""
    if "op" in spec:
        values = [value for part in spec["of"] for value in values_of(part)]
        if "equal" in spec:
            values = [value for value in values if value == spec["equal"]]
        if "at_least" in spec:
            values = [value for value in values if value >= spec["at_least"]]
        value = OPERATIONS[spec["op"]](values)
    else:
        values = record_values(spec)
        if len(values) != 1:
            raise AssertionError(f"{spec} selects {len(values)} numbers, not one")
        value = values[0]
    value *= spec.get("scale", 1)
    if "complement" in spec:
        value = spec["complement"] - value
    form = spec.get("as", "s3")
    return value, significant(value, int(form[1:])) if re.fullmatch(r"s\d", form) else format(value, form)


def squeezed(text):
    return " ".join(text.split())


def filled(entry):
    return squeezed(re.sub(r"\{(\w+)\}", lambda match: figure(entry["figures"][match[1]])[1], entry["line"]))


def rows_of(page):
    """Returns the rows of the page's tables below their headings, as (line number, text)."""
    lines = (TREE / page).read_text(encoding="utf-8").splitlines()
    is_below = False
    for number, line in enumerate(lines, 1):
        is_row = line.startswith("|")
        if is_row and is_below:
            yield number, squeezed(line)
        is_below = is_row and (is_below or re.fullmatch(r"[|\s:-]+", line) is not None)


class DocumentedFigures(unittest.TestCase):
    def test_are_what_the_records_say(self):
        pages = {page: squeezed((TREE / page).read_text(encoding="utf-8")) for page in BOUND["pages"]}
        for entry in BOUND["lines"]:
            with self.subTest(page=entry["page"], line=entry["line"]):
                text = filled(entry)
                self.assertTrue(text in pages[entry["page"]], f"\n{entry['page']} lacks, by its records:\n  {text}")

    def test_no_row_of_a_table_has_a_number_that_nothing_covers(self):
        bound = {(entry["page"], filled(entry)) for entry in BOUND["lines"]}
        listed = {(entry["page"], squeezed(entry["line"])) for entry in BOUND["unrecorded"]}
        for page in BOUND["pages"]:
            for number, row in rows_of(page):
                with self.subTest(page=page, line=number):
                    is_exempt = any(row.startswith(squeezed(begin))
                                    for begin in BOUND["rows_without_measurements"].get(page, []))
                    is_known = is_exempt or (page, row) in bound or any(
                        page == where and text in row for where, text in bound | listed)
                    self.assertTrue(is_known or not re.search(r"\d", re.sub(r"\]\([^)]*\)", "", row)),
                                    f"{page}:{number} is bound to no record: {row}")

    def test_exempt_rows_and_unrecorded_sentences_are_there(self):
        for page, begins in BOUND["rows_without_measurements"].items():
            rows = [row for _, row in rows_of(page)]
            for begin in begins:
                self.assertTrue(any(row.startswith(squeezed(begin)) for row in rows), f"{page} has no row {begin}")
        for entry in BOUND["unrecorded"]:
            text = squeezed((TREE / entry["page"]).read_text(encoding="utf-8"))
            self.assertIn(squeezed(entry["line"]), text, "no longer there: take it out of \"unrecorded\"")
            print(f"EXPECTED FAILURE, no record is kept: {entry['page']}: {entry['line']}  ({entry['reason']})", file=sys.stderr)

    def test_the_pages_are_all_that_measure(self):
        pages = {"README.md", "results/measurements/README.md"} | {f"docs/{page.name}" for page in TREE.glob("docs/*.md")}
        self.assertEqual(set(BOUND["pages"]), pages)


class TheCheckItself(unittest.TestCase):
    def test_sees_a_number_that_parts_from_its_record(self):
        entry = next(entry for entry in BOUND["lines"] if entry["page"] == "README.md")
        page = squeezed((TREE / "README.md").read_text(encoding="utf-8"))
        right = filled(entry)
        self.assertIn(right, page)
        digit = re.search(r"\d(?=\D*$)", right)
        wrong = right[:digit.start()] + str((int(digit[0]) + 1) % 10) + right[digit.end():]
        self.assertNotIn(wrong, page)

    def test_counts_significant_digits(self):
        self.assertEqual([significant(value, 3) for value in (26.33, 3.367, 363.5, 0.7012)], ["26.3", "3.37", "364", "0.701"])


unittest.main()
