#!/usr/bin/env python3
"""Writes the page of a document from `reprise report`: prints {"page": HTML, "undrawn": [reasons for missing figures]}
as JSON."""
import json
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the script without a traceback

import jinja2

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # where PYTHONSAFEPATH keeps Python from looking
from report import render

# The exceptions that a malformed document raises.
FAULTS = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError,
          jinja2.TemplateError)


def main():
    if len(sys.argv) != 2:
        sys.exit("reprise_report: give the document that `reprise report` writes; a folder's page is that command's")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            document = json.load(file)
        reasons = [reason for reason in map(render.undrawn, document["reports"]) if reason]
        json.dump({"page": render.page_of(document), "undrawn": reasons}, sys.stdout)
    except FAULTS as error:
        sys.exit(f"reprise_report: {sys.argv[1]} cannot be shown as a page ({type(error).__name__}: {error})")


if __name__ == "__main__":
    main()
