#!/usr/bin/env python3
"""The measured numbers of README.md, docs/ and results/measurements/README.md, and the records that they come from.

    python3 tests/repository/documented_figures.py    # writes the records' numbers into the pages

documented_figures.json binds them: each entry has a line of a page, with {names} for its numbers, and the origin of
each number. The line is filled from the records, and the page must contain the filled line.

    {"page": "README.md", "line": "| none | {a} |",
     "figures": {"a": {"record": "cpu_x.jsonl", "where": {"method": "paged"}, "metric": "latency_us", "scale": 0.001}}}

A figure is one number, or an "op" (min, max, median, sum, count, ratio) over the numbers listed under "of"; "equal" and
"at_least" select among them:
    record   a file of results/measurements, by its name without the .gz of a packed one
    where    of a .jsonl: requested settings that the records have; and what is taken of those records:
             "metric" and its "key" (value by default)
             "setting": a requested setting, which all of them have alike
             "run": "minutes" that measuring them took, without pauses, or "peak_gb", the memory it took
    path     of a .json: keys, places, {"key": "beginning of its value"} for one of a list, "*" for all of them
    scale    (optional) a factor; complement (optional) the number is this minus it; as (optional) a format of Python's, or
             "s3": three significant digits, the default
"""
import datetime
import functools
import json
import math
import pathlib
import re
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(TREE / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

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


def minutes_of(found):
    """Returns the length of the union of the records' spans of time: groups may be measured together, and a run may pause."""
    spans = sorted(tuple(datetime.datetime.fromisoformat(record[key].replace("Z", "+00:00"))
                         for key in ("started_at", "ended_at")) for record in found)
    seconds, until = 0, spans[0][0]
    for start, end in spans:
        seconds += max(0, (end - max(start, until)).total_seconds())
        until = max(until, end)
    return seconds / 60


def run_value(found, what):
    if what == "minutes":
        return minutes_of(found)
    return max(record["memory"]["process_peak_bytes"] for record in found) / 1e9


def record_values(spec):
    if spec["record"].endswith(".jsonl"):
        found = [record for record in loaded(spec["record"])
                 if all(record["settings"]["requested"].get(key) == value for key, value in spec["where"].items())]
        if found and "run" in spec:
            return [run_value(found, spec["run"])]
        if found and "setting" in spec:
            return sorted({record["settings"]["requested"][spec["setting"]] for record in found})
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


def pattern_of(entry):
    """Returns an expression for the entry's line with any numbers, a group for each."""
    literals = re.split(r"\{\w+\}", entry["line"])
    return r"(-?\d+(?:\.\d+)?)".join(r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in literals)


def place_of(entry, page):
    """Returns the match of the entry's line in the page's text: a whole line or a part of one. Lines that differ only in
    their numbers are bound in the order of the page."""
    pattern = pattern_of(entry)
    alike = [other for other in BOUND["lines"] if other["page"] == entry["page"] and pattern_of(other) == pattern] or [entry]
    for expression in (f"(?m)^{pattern}$", pattern):
        found = list(re.finditer(expression, page))
        if len(found) == len(alike):
            return found[alike.index(entry)]
    raise ValueError(f"{entry['page']} has {len(found)} places for {len(alike)} lines like {entry['line']}")


def rewritten(entry, page):
    """Returns the page's text with the entry's numbers as its records have them."""
    if filled(entry) in squeezed(page):
        return page
    names = re.findall(r"\{(\w+)\}", entry["line"])
    place = place_of(entry, page)
    for group in range(len(names), 0, -1):
        page = page[:place.start(group)] + figure(entry["figures"][names[group - 1]])[1] + page[place.end(group):]
    return page


def main():
    pages = {page: (TREE / page).read_text(encoding="utf-8") for page in BOUND["pages"]}
    failures = []
    for entry in BOUND["lines"]:
        try:
            pages[entry["page"]] = rewritten(entry, pages[entry["page"]])
        except (AssertionError, KeyError, ValueError) as problem:
            failures.append(f"{entry['page']}: {problem!r}")
    for page, text in pages.items():
        (TREE / page).write_text(text, encoding="utf-8")
    print(*failures, sep="\n", end="\n" if failures else "", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
