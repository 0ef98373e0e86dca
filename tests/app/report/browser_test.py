"""browser_test.py PROGRAM [PICTURES]: tests the page of `reprise report` in a real headless Chromium, light and dark,
narrow and wide, and on paper. Screenshots go to the folder PICTURES if one is named."""
import os
import sys
import tempfile
import unittest

import browser
import made_results
from pages import NO_JINJA, NO_MATPLOTLIB, Reprise, StrictPage, has_jinja, has_matplotlib, skip

reprise = Reprise(sys.argv.pop(1))
PICTURES = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ""

SIZES = """[...document.querySelectorAll('.plot svg')].map(svg => svg.getBoundingClientRect())
  .map(box => [box.width, box.height])"""
ROWS = "document.querySelectorAll('#r1-metrics tbody tr').length"
COLUMN = "[...document.querySelectorAll('#r1-metrics tbody tr')].map(row => row.cells[{}].textContent)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Computes the contrast of text on its page [WCAG 2.1] from the styles in force.
CONTRAST = """(() => {
  const parse = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = rgb => rgb.map(c => c / 255).map(c => c > 0.03928 ? ((c + 0.055) / 1.055) ** 2.4 : c / 12.92)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const page = light(parse(getComputedStyle(document.body).backgroundColor));
  const ratio = element => {
    const ink = light(parse(getComputedStyle(element).color));
    return (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
  };
  return Math.min(...[...document.querySelectorAll('p, td, th, h2, figcaption, small, a')].map(ratio));
})()"""
INK = "getComputedStyle(document.querySelector('.plot svg text')).fill"


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.browser = browser.Browser(browser.find_browser(), os.path.join(cls.folder.name, "profile"))
        run = reprise.run_quickstart(os.path.join(cls.folder.name, "run of größe"))
        cls.quickstart = os.path.join(cls.folder.name, "quickstart page.html")
        cls.strict = reprise.report(run, out=cls.quickstart)
        serving = made_results.serving_folder(os.path.join(cls.folder.name, "serving"))
        slower = made_results.serving_folder(os.path.join(cls.folder.name, "slower"), slower=1.5, seed=7)
        cls.changes = os.path.join(cls.folder.name, "changes.html")
        reprise.report(serving, slower, out=cls.changes)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def keep(self, page, name):
        if PICTURES:
            page.screenshot(os.path.join(PICTURES, name + ".png"))

    def test_opens_without_a_complaint_and_asks_nobody(self):
        for path in (self.quickstart, self.changes):
            page = self.browser.open(path)
            self.assertEqual(page.complaints(), [])
            self.assertEqual(page.requests(), [])

    def test_looks_right_light_and_dark_narrow_and_wide(self):
        for path, name, figures in ((self.quickstart, "quickstart", 2), (self.changes, "changes", 10)):
            page = self.browser.open(path)
            for width in (390, 1400):
                for is_dark in (False, True):
                    page.look(width, is_dark)
                    self.keep(page, f"{name}-{width}-{'dark' if is_dark else 'light'}")
                    sizes = page.evaluate(SIZES)
                    self.assertEqual(len(sizes), figures)
                    for size in sizes:
                        self.assertGreater(min(size), 200, (name, width))
                    self.assertLessEqual(page.evaluate(OVERFLOW), 0, (name, width))
                    self.assertGreaterEqual(page.evaluate(CONTRAST), 4.5, (name, width, is_dark))
                    red = int(page.evaluate(INK).split("(")[1].split(",")[0])
                    self.assertEqual(red > 128, is_dark, "letters of figures take the page's ink")

    def test_tables_have_their_rows_and_are_sorted_by_a_heading(self):
        page = self.browser.open(self.quickstart)
        self.assertEqual(page.evaluate(ROWS), len(self.strict.table("r1-metrics")))
        column = self.strict.headings("r1-metrics").index("ttft_ms")
        button = f"document.querySelectorAll('#r1-metrics th')[{column}].querySelector('button').click()"
        in_order = page.evaluate(COLUMN.format(column))
        numbers = ("[...document.querySelectorAll('#r1-metrics tbody tr')]"
                   f".map(row => Number(row.cells[{column}].dataset.v))")
        page.evaluate(button)
        self.assertEqual(page.evaluate(numbers), sorted(page.evaluate(numbers)))
        page.evaluate(button)
        self.assertEqual(page.evaluate(numbers), sorted(page.evaluate(numbers), reverse=True))
        page.evaluate(button)
        self.assertEqual(page.evaluate(COLUMN.format(column)), in_order)
        self.assertEqual(page.complaints(), [])

    def test_all_columns_are_shown_on_demand(self):
        page = self.browser.open(self.quickstart)
        visible = "[...document.querySelectorAll('#r1-metrics thead th')].filter(cell => cell.offsetWidth > 0).length"
        few = page.evaluate(visible)
        page.evaluate("document.querySelector('#r1-metrics-all').click()")
        self.assertGreater(page.evaluate(visible), few)
        self.assertEqual(page.evaluate(visible), len(self.strict.headings("r1-metrics")))

    def test_prints_what_is_folded_away(self):
        page = self.browser.open(self.quickstart)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(page.evaluate("document.querySelectorAll('details:not([open])').length"), 0)
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        self.assertGreater(page.evaluate("document.querySelectorAll('details:not([open])').length"), 0)
        path = os.path.join(PICTURES or self.folder.name, "quickstart.pdf")
        page.pdf(path)
        with open(path, "rb") as file:
            self.assertTrue(file.read().startswith(b"%PDF"))

    def test_the_browser_notices_what_a_bad_page_does(self):
        """Shows that the checks above can fail, on a page that has a script of its own, sends a request and raises an error."""
        path = os.path.join(self.folder.name, "bad.html")
        with open(self.quickstart, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("<main>", "<main><script>alert(1)</script>"))
        self.assertNotEqual(self.browser.open(path).complaints(), [])
        self.assertNotEqual(StrictPage(path).faults(), [])
        with open(path, "w", encoding="utf-8") as file:
            file.write("<!DOCTYPE html><img src='http://127.0.0.1:9/x.png'><script>throw 1</script>")
        bad = self.browser.open(path)
        self.assertNotEqual(bad.requests(), [])
        self.assertNotEqual(bad.complaints(), [])


if __name__ == "__main__":
    if browser.find_browser() is None:
        skip("there is no chromium here (Debian: apt-get install chromium, or set REPRISE_BROWSER)")
    if not has_matplotlib():
        skip(NO_MATPLOTLIB)
    if not has_jinja():
        skip(NO_JINJA)
    unittest.main()
