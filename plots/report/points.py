"""Tables of the points of a folder. `report` is one of the document's reports (app/report/facts.h)."""
from report.table import Cell, Column, Table, number_of

WORDS = ("model", "dtype", "weight_format", "method")  # settings shown by their value alone


def remedy_of(report: dict) -> str:
    return f"All of them: reprise plot {report['source']} --metrics all --format csv"


def remedy_of_texts(report: dict) -> str:
    """Returns where all remarks and answers are: no command prints them."""
    return f"All of them are in the records of {report['source']}."


def points_of(report: dict) -> list[tuple[dict, dict]]:
    """Returns each record with its facts."""
    return list(zip(report["records"], report["facts"]))


def setting_text(fact: dict, key: str) -> str:
    return fact["settings"].get(key, "null")


def point_text(report: dict, fact: dict) -> str:
    """Returns "bf16 batch=8 METHOD": the settings that tell the point apart."""
    return " ".join(("" if key in WORDS else key + "=") + setting_text(fact, key) for key in report["keys"])


def key_columns(report: dict, keys: list[str]) -> list[Column]:
    first = report["records"][0]["settings"]["requested"]
    return [Column(key, is_number=number_of(first.get(key)) is not None) for key in keys]


def key_cells(keys: list[str], requested: dict, fact: dict) -> list[Cell]:
    return [Cell(setting_text(fact, key), number=number_of(requested.get(key))) for key in keys]


def metric_cell(fact: dict | None) -> Cell:
    """Returns a metric's median with its quartiles, or a percentile with its interval."""
    if fact is None:
        return Cell("-")
    return Cell(fact["text"], fact.get("spread", ""), fact.get("value"))


def marks_of(record: dict, fact: dict) -> str:
    """Returns the remarks that a reader should see before a point's numbers; "" if there are none."""
    marks = (("invalid" in record, "INVALID"), ("invalid_speedup" in record, "INVALID throughput_speedup"),
             (fact["inexact"], "NOT EXACT"), (fact["is_disturbed"], "other programs"))
    return ", ".join(mark for is_so, mark in marks if is_so)


def mark_cell(record: dict, fact: dict) -> Cell:
    is_bad = "invalid" in record or "invalid_speedup" in record or fact["inexact"]
    return Cell(marks_of(record, fact), mark="bad" if is_bad else "warn")


def papers_with(report: dict, metric: str) -> list[int]:
    """Returns the indices of the papers that give the metric for any point or mean."""
    facts = report["facts"] + report["means"]
    return [i for i in range(len(report["papers"])) if any(metric in fact["papers"][i] for fact in facts)]


def metric_columns(report: dict, column: dict, papers: list[int]) -> list[Column]:
    """Returns a column for the metric, and one for each paper's numbers of it."""
    is_extra = not column["is_own"]
    return [Column(column["heading"], column["help"], True, is_extra)] + [
        Column(paper["label"], f"{paper['source']}, on {paper['hardware']}", True, is_extra)
        for paper in (report["papers"][i] for i in papers)]


def metric_cells(fact: dict, name: str, papers: list[int]) -> list[Cell]:
    return [metric_cell(fact["metrics"].get(name))] + [metric_cell(fact["papers"][i].get(name)) for i in papers]


def mean_sentence(report: dict) -> str:
    return f". The last rows are means over {report['run']['mean_over']}" if report["means"] else ""


def metrics_table(report: dict) -> Table:
    """Makes a row for each point, then for each mean. The experiment's own metrics are shown first, all others on demand."""
    measured = [column for column in report["columns"] if column["is_measured"]]
    measured.sort(key=lambda column: not column["is_own"])
    absent = [column["name"] for column in report["columns"] if column["is_own"] and not column["is_measured"]]
    has_marks = any(marks_of(*point) for point in points_of(report))
    caption = "Every point" + mean_sentence(report) + (". No record has " + ", ".join(absent) if absent else "")
    table = Table(report["id"] + "-metrics", caption,
                  key_columns(report, report["keys"]) + [Column("marks")] * has_marks, remedy=remedy_of(report))
    papers = [papers_with(report, column["name"]) for column in measured]
    for column, places in zip(measured, papers):
        table.columns += metric_columns(report, column, places)
    rows = [(record["settings"]["requested"], fact, mark_cell(record, fact)) for record, fact in points_of(report)]
    rows += [(fact["requested"], fact, Cell("")) for fact in report["means"]]
    for requested, fact, mark in rows:
        row = key_cells(report["keys"], requested, fact) + [mark] * has_marks
        for column, places in zip(measured, papers):
            row += metric_cells(fact, column["name"], places)
        table.rows.append(row)
    return table


def answer_cell(record: dict, fact: dict, name: str) -> Cell:
    value = record["answers"].get(name)
    return Cell(fact["answers"].get(name, "-"), number=value if isinstance(value, float) else None)


def answers_table(report: dict) -> Table:
    """Lists texts and numbers that were recorded as answers; no rows if there are none."""
    names = list(dict.fromkeys(name for fact in report["facts"] for name in fact["answers"]))
    table = Table(report["id"] + "-answers", "What came out beside the metrics",
                  key_columns(report, report["keys"]) + [Column(name) for name in names],
                  remedy=remedy_of_texts(report))
    if names:
        table.rows = [key_cells(report["keys"], record["settings"]["requested"], fact) +
                      [answer_cell(record, fact, name) for name in names]
                      for record, fact in points_of(report)]
    return table


def meanings(report: dict) -> list[tuple[str, str]]:
    """Returns (heading, help) of the metrics that this program knows."""
    return [(column["heading"], column["help"]) for column in report["columns"]
            if column["help"] and "." not in column["name"]]
