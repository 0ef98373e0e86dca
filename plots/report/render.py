"""Fills the templates with what the document of `reprise report` holds."""
import base64
import hashlib
import os

import jinja2
from markupsafe import Markup

from rate_figures import rate_figures
from report import changes, points, provenance, texts, validity
from report.escape import visible

TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates")
WIDEST_HALF_PX = 760  # of a figure that stands beside another


def environment() -> jinja2.Environment:
    """Whatever a template prints is escaped, and what it is not given is an error."""
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, finalize=visible,
                              undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                              keep_trailing_newline=True)
    made.globals |= {"changes": changes, "points": points, "provenance": provenance, "texts": texts,
                     "validity": validity, "widest_half_px": WIDEST_HALF_PX}
    return made


def file_of(name: str) -> Markup:
    """The style sheet or the script, as it is."""
    with open(os.path.join(TEMPLATES, name), encoding="utf-8") as file:
        return Markup(file.read())


def digest(script: str) -> str:
    """By which the page's policy knows its only script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def undrawn(report: dict) -> str:
    """Why the report's figures are missing; "" where it asks for none or they are there."""
    wanted = report["run"]["plots"] or rate_figures(report["run"], report["records"])
    return report.get("no_figures", "") if wanted else ""


def with_reports(document: dict) -> list[dict]:
    """The document's changes with the reports that they are between."""
    reports = document["reports"]
    return [one | {"before": reports[one["before"]], "after": reports[one["after"]]} for one in document["changes"]]


def page_of(document: dict) -> str:
    """The whole page. The same document gives the same bytes."""
    reports, script = document["reports"], file_of("script.js")
    title = texts.title_of(reports[0]) if len(reports) == 1 else f"{len(reports)} folders of results"
    return environment().get_template("page.html").render(
        title=title, reports=reports, all_changes=with_reports(document), undrawn=undrawn, script=script,
        script_digest=digest(script), style=file_of("style.css"), version=texts.lines_of(document["version"]))
