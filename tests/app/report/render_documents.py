"""render_documents.py PLOTS FOLDER: renders the pages of all documents in a folder and checks that no document adds
markup to the templates'. Prints the faults; the status is 1 if there are any, or if there is no document."""
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, sys.argv[1])

from report import render


def fault_of(file):
    """Returns the fault of this document's page; "" if there is none."""
    try:
        page = render.page_of(json.loads(file.read_text(encoding="utf-8")))
        scripts = len(list(ElementTree.fromstring(page).iter("script")))
    except Exception as error:  # any exception: every document of the program must have a page
        return f"{type(error).__name__}: {error}"
    return "" if scripts == 1 and page.endswith("</html>\n") else f"{scripts} scripts"


def main():
    files = sorted(pathlib.Path(sys.argv[2]).iterdir())
    faults = [f"{file.name}: {fault}" for file in files if (fault := fault_of(file))]
    print("\n".join(faults[:20]))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
