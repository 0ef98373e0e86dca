"""Fills the templates with the document of `reprise report`."""
import base64
import hashlib
import os

import jinja2
from markupsafe import Markup

from rate_figures import rate_figures
from report import changes, points, provenance, texts, validity
from report.escape import visible

TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates")
WIDEST_HALF_PX = 760  # width of a figure that has another one beside it


def environment() -> jinja2.Environment:
    """The templates' environment. It escapes all output and raises an error for missing values."""
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, finalize=visible,
                              undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                              keep_trailing_newline=True)
    made.globals |= {"changes": changes, "points": points, "provenance": provenance, "texts": texts,
                     "validity": validity, "widest_half_px": WIDEST_HALF_PX}
    return made


def file_of(name: str) -> Markup:
    """Returns the style sheet or the script unchanged."""
    with open(os.path.join(TEMPLATES, name), encoding="utf-8") as file:
        return Markup(file.read())


def digest(script: str) -> str:
    """Returns the hash by which the page's policy allows its only script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def undrawn(report: dict) -> str:
    """Returns why the report's figures are missing; "" if it wants none or they are there."""
    wanted = report["run"]["plots"] or rate_figures(report["run"], report["records"])
    return report.get("no_figures", "") if wanted else ""


def with_reports(document: dict) -> list[dict]:
    """Returns the document's changes together with the reports they compare."""
    reports = document["reports"]
    return [one | {"before": reports[one["before"]], "after": reports[one["after"]]} for one in document["changes"]]


def page_of(document: dict) -> str:
    """Returns the whole page. The same document gives the same bytes."""
    reports, script = document["reports"], file_of("script.js")
    title = texts.title_of(reports[0]) if len(reports) == 1 else f"{len(reports)} folders of results"
    return environment().get_template("page.html").render(
        title=title, reports=reports, all_changes=with_reports(document), undrawn=undrawn, script=script,
        script_digest=digest(script), style=file_of("style.css"), version=texts.lines_of(document["version"]))
