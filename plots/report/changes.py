"""Tables of the changes between two folders of one experiment. `changes` is an entry of the document's "changes", with the
two reports themselves as "before" and "after" (app/report/facts.h)."""
import statistics

from report.points import key_cells, key_columns, setting_text
from report.table import Cell, Column, Table

# The verdicts in the order in which they are counted, each with its mark.
VERDICTS = {"worse": "bad", "better": "good", "changed": "", "same": "", "undecided": "", "not tested": "",
            "INVALID run": "bad"}


def id_of(changes: dict) -> str:
    return f"{changes['before']['id']}-{changes['after']['id']}"


def counts(changes: dict) -> dict[str, int]:
    """Returns how often each verdict was given, without verdicts that were not given."""
    given = [change["verdict"] for change in changes["metrics"]]
    return {verdict: given.count(verdict) for verdict in VERDICTS if verdict in given}


def badges(changes: dict) -> list[tuple[str, str]]:
    """Returns (text, mark) of each verdict that was given."""
    return [(f"{count} {verdict}", VERDICTS[verdict]) for verdict, count in counts(changes).items()]


def interval_text(interval: list[float] | None) -> str:
    if interval is None:
        return ""
    return "{:.3f} to {:.3f}".format(*interval) if interval else "too few samples"


def range_text(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else "-"


def tally_row(name: tuple[str, str], those: list[dict], verdicts: list[str]) -> list[Cell]:
    ratios = [change["ratio"] for change in those if change["ratio"] is not None and change["verdict"] != "INVALID run"]
    row = [Cell(name[0]), Cell(name[1]), Cell(range_text(ratios))]
    for verdict in verdicts:
        count = sum(change["verdict"] == verdict for change in those)
        row.append(Cell(str(count), number=count, mark=VERDICTS[verdict] if count else ""))
    return row


def tally_table(changes: dict) -> Table:
    """Counts the points that became better or worse, by method and metric."""
    facts, verdicts = changes["after"]["facts"], list(counts(changes))
    keys = [key for key in ("method", "method_options") if key in changes["after"]["keys"]]
    tallies: dict[tuple[str, str], list[dict]] = {}
    for change in changes["metrics"]:
        method = " ".join(setting_text(facts[change["point"]], key) for key in keys)
        tallies.setdefault((method, change["metric"]), []).append(change)
    columns = [Column("method"), Column("metric"), Column("median ratio (range over points)")]
    return Table(id_of(changes) + "-tally", "By method and metric",
                 columns + [Column(verdict, is_number=True) for verdict in verdicts],
                 [tally_row(name, tallies[name], verdicts) for name in sorted(tallies)])


def keys_of_both(changes: dict) -> list[str]:
    """Returns the keys of both folders, including settings that only one of them sweeps."""
    keys = list(changes["before"]["keys"])
    for key in changes["after"]["keys"]:
        if key not in keys:
            keys.insert(0, key)
    return keys


def change_row(changes: dict, keys: list[str], change: dict) -> list[Cell]:
    record, fact = (changes["after"][what][change["point"]] for what in ("records", "facts"))
    before, after = (Cell(change[side]["text"], number=change[side]["value"]) for side in ("before", "after"))
    ratio = Cell("-") if change["ratio"] is None else Cell(f"{change['ratio']:.3f}", number=change["ratio"])
    return key_cells(keys, record["settings"]["requested"], fact) + [
        Cell(change["heading"]), before, after, ratio, Cell(interval_text(change["interval"])),
        Cell(change["verdict"], mark=VERDICTS[change["verdict"]])]


def changes_table(changes: dict) -> Table:
    """Lists every comparison, the worse ones first."""
    keys = keys_of_both(changes)
    columns = key_columns(changes["after"], keys) + [Column("metric")]
    columns += [Column(heading, is_number=True) for heading in ("before", "after", "ratio")]
    ordered = sorted(changes["metrics"], key=lambda change: change["verdict"] != "worse")
    return Table(id_of(changes) + "-changes", "Point by point",
                 columns + [Column("interval of the factor"), Column("verdict")],
                 [change_row(changes, keys, change) for change in ordered], "The two folders have the rest.")
