#!/usr/bin/env python3
"""notebook_test.py TREE: runs the cells of docs/notebook.ipynb in order, and tests that they print what is stored in it and draw
its figure. Needs no Jupyter."""
import base64
import contextlib
import io
import json
import os
import pathlib
import sys
import unittest

import matplotlib
import pandas  # noqa: F401  (the notebook needs it)

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (after the choice of how it draws)

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
NOTEBOOK = TREE / "docs/notebook.ipynb"
PNG = b"\x89PNG\r\n\x1a\n"


def printed(cell):
    """Returns what is stored as printed by a cell."""
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


class Notebook(unittest.TestCase):
    def setUp(self):
        self.cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(NOTEBOOK.parent)   # as Jupyter does
        self.addCleanup(pyplot.close, "all")

    def test_cells_print_what_is_stored_and_draw_the_figure(self):
        scope, shown = {"__name__": "__main__"}, 0
        pyplot.show = lambda: None   # Jupyter shows figures by itself
        for number, cell in enumerate(cell for cell in self.cells if cell["cell_type"] == "code"):
            out = io.StringIO()
            with self.subTest(cell=number), contextlib.redirect_stdout(out):
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), scope)
            self.assertEqual(out.getvalue(), printed(cell), f"cell {number}: run the notebook again and store its outputs")
            shown += len(printed(cell)) > 0
        self.assertGreater(shown, 1)
        curves = [len(axis.lines) for axis in pyplot.gcf().axes]
        self.assertEqual(curves, [5, 5])

    def test_a_small_figure_is_stored(self):
        images = [output["data"]["image/png"] for cell in self.cells for output in cell.get("outputs", [])
                  if "image/png" in output.get("data", {})]
        self.assertEqual(len(images), 1)
        self.assertTrue(base64.b64decode("".join(images[0])).startswith(PNG))
        self.assertLess(len("".join(images[0])), 100_000)

    def test_no_error_is_stored(self):
        kinds = {output["output_type"] for cell in self.cells for output in cell.get("outputs", [])}
        self.assertLessEqual(kinds, {"stream", "display_data"})
        self.assertNotIn(str(TREE), NOTEBOOK.read_text(encoding="utf-8"))


unittest.main()
