"""Everything that a reader should know before trusting a folder's numbers. `report` is one of the document's
reports."""
from common import NOISY_SHARE
from report.points import point_text, points_of, remedy_of_texts
from report.table import Cell, Column, Table
from report.texts import json_text, lines_of


def badges(report: dict) -> list[tuple[str, str]]:
    """Returns (text, mark) of the counts of points that are not 0."""
    facts = report["facts"]
    counts = ((len(facts), "points", ""), (invalid_count(report), "INVALID", "bad"),
              (sum("invalid_speedup" in record for record in report["records"]), "INVALID throughput_speedup", "bad"),
              (sum(bool(fact["inexact"]) for fact in facts), "not exact", "bad"), (report["missing"], "missing", "warn"),
              (report["skipped"], "skipped", "warn"), (len(report["run"]["left_out"]), "methods left out", "warn"),
              (sum(bool(fact["noisy"]) for fact in facts), "noisy", "warn"),
              (sum(fact["is_disturbed"] for fact in facts), "disturbed by other programs", "warn"))
    smoke = [("smoke scale", "warn")] if report["run"].get("settings", {}).get("scale") == "smoke" else []
    return smoke + [(f"{count} {what}", mark) for count, what, mark in counts if count > 0]


def invalid_count(report: dict) -> int:
    return sum("invalid" in record for record in report["records"])


def judged_count(report: dict) -> int:
    return sum(fact["is_judged"] for fact in report["facts"])


def refused_table(report: dict) -> Table:
    table = Table(report["id"] + "-refused", "Points that do not count, or less than they promise",
                  [Column("point"), Column("mark"), Column("reason")], remedy=remedy_of_texts(report))
    for record, fact in points_of(report):
        for mark, reason in (("INVALID", record.get("invalid", "")), ("NOT EXACT", fact["inexact"]),
                             ("INVALID throughput_speedup", record.get("invalid_speedup", ""))):
            if reason:
                table.rows.append([Cell(point_text(report, fact)), Cell(mark, mark="bad"),
                                   Cell(reason.removeprefix(f"{mark}: "))])
    return table


def remarks_table(report: dict) -> Table:
    table = Table(report["id"] + "-remarks", "Remarks of the records", [Column("point"), Column("remark")],
                  remedy=remedy_of_texts(report))
    for record, fact in points_of(report):
        remarks = record.get("remarks")
        for remark in remarks if isinstance(remarks, list) else []:
            table.rows.append([Cell(point_text(report, fact)), Cell(json_text(remark))])
    return table


def noisy_notes(report: dict) -> list[str]:
    """Returns what the star means, and at how many points each metric has it: "ttft_ms at 1 of 96 points". Empty if no
    metric is noisy."""
    facts = report["facts"]
    counts = {column["name"]: sum(column["name"] in fact["noisy"] for fact in facts) for column in report["columns"]}
    parts = [f"{name} at {count} of {len(facts)} points" for name, count in counts.items() if count > 0]
    return [f"noisy (*), the quartiles lie more than {100 * NOISY_SHARE:.0f} % of the median apart: "
            + ", ".join(parts)] if parts else []


def disturbed_notes(report: dict) -> list[str]:
    """Tells how many tries of timed pieces of work lost CPU time to other programs."""
    uses = [record.get("core_use") for record in report["records"]]
    uses = [use for use in uses if isinstance(use, dict)]

    def total(key: str) -> int:
        return sum(use[key] for use in uses if type(use.get(key)) is int)
    disturbed, retaken = total("disturbed"), total("retaken")
    if disturbed + retaken == 0:
        return []
    pieces = sum(len(use["wall_ms"]) for use in uses if isinstance(use.get("wall_ms"), (list, dict)))
    return [f"other programs took the cores: of {pieces + retaken} tries {retaken} were dropped; of the {pieces} that count "
            f"{disturbed} were disturbed"]


def notes(report: dict) -> list[str]:
    """Returns sentences on everything mixed, left out, skipped, missing, noisy or disturbed, and on the papers'
    numbers."""
    lines = lines_of(report["notes"]["gaps"]) + noisy_notes(report) + disturbed_notes(report)
    lines += lines_of(report["notes"]["papers"])
    if report["torn_bytes"] > 0:
        lines.append(f"incomplete: {report['torn_bytes']} bytes behind the last whole group of points are not counted; a "
                     "run writes there, or was ended while it did")
    return lines
