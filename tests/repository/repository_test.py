#!/usr/bin/env python3
"""repository_test.py FOLDER: tests that links lead somewhere, headers guard themselves, and README starts with two
commands."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
MOST_RESULTS_BYTES = 6_000_000
MOST_PLAIN_BYTES = 20_000


def pages():
    return [*sorted(TREE.glob("*.md")), TREE / "results/measurements/README.md", *sorted(TREE.glob("docs/*.md")),
            *sorted(TREE.glob("methods/*/README.md")), *sorted(TREE.glob("experiments/*/README.md"))]


def anchors(page):
    """Returns the anchors of a page's headings in the form that web pages use."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


class Repository(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in pages():
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                self.assertTrue(target.exists(), f"{page.relative_to(TREE)}: {link}")
                if anchor:
                    self.assertIn(anchor, anchors(target), f"{page.relative_to(TREE)}: {link}")

    def test_records_are_packed_and_small(self):
        files = [path for path in (TREE / "results").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        total = sum(path.stat().st_size for path in files)
        self.assertLessEqual(total, MOST_RESULTS_BYTES, "pack records with tools/pack_record.py")
        for path in (TREE / "results/measurements").iterdir():
            name = path.relative_to(TREE)
            self.assertNotEqual(path.suffix, ".jsonl", f"{name}: pack it with tools/pack_record.py")
            if path.suffix == ".gz":
                self.assertEqual(path.read_bytes()[3:8], bytes(5), f"{name} holds a name or a time: tools/pack_record.py packs "
                                                                   "it without")
            else:
                self.assertLess(path.stat().st_size, MOST_PLAIN_BYTES, f"{name}: pack it with tools/pack_record.py")

    def test_commands_of_records_name_records_and_experiments(self):
        commands = json.loads((TREE / "results/measurements/commands.json").read_text(encoding="utf-8"))
        for record, command in commands.items():
            with self.subTest(record=record):
                self.assertTrue((TREE / f"results/measurements/{record}.jsonl.gz").exists(), "there is no such record")
                self.assertTrue((TREE / f"experiments/{command[0]}.json").exists(), f"no experiment {command[0]}")

    def test_pages_print_the_commands_of_records(self):
        commands = json.loads((TREE / "results/measurements/commands.json").read_text(encoding="utf-8"))
        command_and_record = re.compile(r"`reprise\s+run\s+([^`]+)`,[^\[\]()]*\[[^\]]*\]\([^)]*/measurements/(\w+)\.jsonl\.gz\)")
        compared = 0
        for page in pages():
            for printed, record in command_and_record.findall(page.read_text(encoding="utf-8")):
                if record not in commands:
                    continue
                with self.subTest(page=page.name, record=record):
                    self.assertEqual(shlex.split(printed), commands[record])
                    compared += 1
        self.assertGreater(compared, 0, "no page prints a command before its record")

    def test_headers_guard_themselves(self):
        for folder in ("core", "methods", "workloads", "results", "experiments", "checks", "server", "app", "tests"):
            for header in (TREE / folder).rglob("*.h"):
                if not header.name.endswith("-inl.h"):
                    self.assertIn("#pragma once", header.read_text(encoding="utf-8"), header)

    def test_licences_of_all_packages_are_named(self):
        """A package that setup.sh installs, without its comment, stands in a row of THIRD_PARTY.md."""
        lists = re.findall(r"packages(?:_where_known)?\+?=\(([^)]*)\)", re.sub(r"#.*", "", (TREE / "setup.sh").read_text()))
        packages = {name for names in lists for name in names.split()} - {"python3-pip"}
        self.assertGreater(len(packages), 30)
        rows = (TREE / "THIRD_PARTY.md").read_text(encoding="utf-8")
        named = set(re.findall(r"[a-z0-9][a-z0-9+.-]+", "".join(line for line in rows.splitlines() if line.startswith("|"))))
        self.assertEqual(packages - named, set())
        self.assertTrue((TREE / "LICENSE").read_text(encoding="utf-8").strip().startswith("Apache License"))

    def test_scripts_find_their_modules_under_pythonsafepath(self):
        for script in ("data/reprise_data.py", "plots/reprise_plot.py", "plots/reprise_report.py", "python/reprise_export.py"):
            done = subprocess.run([sys.executable, TREE / script, "--help"], capture_output=True, text=True, check=False,
                                  env=os.environ | {"PYTHONSAFEPATH": "1"})
            missing = set(re.findall(r"No module named '(\w+)'", done.stderr))
            self.assertLessEqual(missing, {"jinja2", "matplotlib"}, script)

    def test_readme_start_is_two_commands(self):
        commands = subprocess.run([TREE / "tests/fresh_machine.sh", "--print"], capture_output=True, text=True,
                                  check=True).stdout.splitlines()
        self.assertEqual(commands, ["./setup.sh && make run", "./setup.sh && make test"])


unittest.main()
