#!/usr/bin/env python3
"""documented_figures_test.py: tests that each measured number of the pages agrees with its record (documented_figures.py).

Each row of a table must be bound, or its beginning listed under "rows_without_measurements"; a number in any other row
fails. "unrecorded" lists numbers without a record; the test prints them, and fails for one that has a record.
"""
import re
import sys
import unittest

from documented_figures import BOUND, TREE, filled, minutes_of, place_of, rewritten, significant, squeezed


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
        pages = {"README.md", "results/measurements/README.md"} | {
            str(page.relative_to(TREE)) for folder in ("docs", "experiments/*") for page in TREE.glob(f"{folder}/*.md")}
        self.assertEqual(set(BOUND["pages"]), pages)


class TheNumbersInAPage(unittest.TestCase):
    def test_are_written_anew_where_the_records_differ(self):
        for entry in [entry for entry in BOUND["lines"] if entry["page"] == "README.md"]:
            page = (TREE / "README.md").read_text(encoding="utf-8")
            place = place_of(entry, page)
            wrong = page[:place.start(1)] + "98765.4" + page[place.end(1):]
            with self.subTest(line=entry["line"]):
                self.assertEqual(rewritten(entry, wrong), page)

    def test_have_one_place_each(self):
        pages = {page: (TREE / page).read_text(encoding="utf-8") for page in BOUND["pages"]}
        for entry in BOUND["lines"]:
            with self.subTest(page=entry["page"], line=entry["line"]):
                self.assertEqual(squeezed(place_of(entry, pages[entry["page"]])[0]), filled(entry))

    def test_are_left_alone_if_their_place_is_unknown(self):
        entry = {"page": "README.md", "line": "it takes {a} ms", "figures": BOUND["lines"][0]["figures"]}
        for page in ("it takes long", "it takes 1 ms, and again it takes 2 ms"):
            with self.assertRaisesRegex(ValueError, "places for 1 lines like it takes"):
                rewritten(entry, page)


class TheCheckItself(unittest.TestCase):
    def test_sees_a_number_that_parts_from_its_record(self):
        entry = next(entry for entry in BOUND["lines"] if entry["page"] == "README.md")
        page = squeezed((TREE / "README.md").read_text(encoding="utf-8"))
        right = filled(entry)
        self.assertIn(right, page)
        digit = re.search(r"\d(?=\D*$)", right)
        wrong = right[:digit.start()] + str((int(digit[0]) + 1) % 10) + right[digit.end():]
        self.assertNotIn(wrong, page)

    def test_counts_the_minutes_in_which_a_run_measured(self):
        def record(start, end):
            return {"started_at": f"2026-11-28T10:{start}:00.000Z", "ended_at": f"2026-11-28T10:{end}:00.000Z"}

        self.assertEqual(minutes_of([record("30", "31"), record("00", "02"), record("01", "03")]), 4)

    def test_counts_significant_digits(self):
        self.assertEqual([significant(value, 3) for value in (26.33, 3.367, 363.5, 0.7012)], ["26.3", "3.37", "364", "0.701"])


unittest.main()
