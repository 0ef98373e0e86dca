#!/usr/bin/env python3
"""record_again_test.py FOLDER [PROGRAM]: tests that tools/record_again.py measures a record's own command, and leaves a record
as it is if models, data or methods of the command are missing. A sample program stands for `reprise` in a small checkout.
With PROGRAM, also tests that `reprise run --dry-run` prints the notes that the tool looks for."""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None
TREE = pathlib.Path(sys.argv.pop(1)).resolve()
RECORD = {"schema": 1, "experiment": {"name": "sample", "kind": "ttft"}, "point": "p0",
          "group": {"id": "g0", "index": 0, "of": 1}, "config_hash": "aa",
          "settings": {"requested": {"method": "paged"}}, "metrics": {"t": {"value": 1}}, "samples": {}, "machine": {},
          "provenance": {"revision": "0"}}
# Prints `note` whenever it plans or measures. Writes a record when it measures.
SAMPLE_PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
if "--version" in sys.argv:
    print("revision   {revision}")
elif "missing" in sys.argv:
    sys.exit("error: there is no missing.csv")
else:
    sys.stderr.write({note!r})
    if "--dry-run" not in sys.argv:
        out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
        out.mkdir(parents=True)
        (out / "records.jsonl").write_text(json.dumps({record!r}) + "\\n")
        (out / "arguments.txt").write_text(" ".join(sys.argv))
"""
COMMANDS = {"one": ["sample", "--set", "a=1"], "another": ["sample", "missing"]}


class RecordAgain(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for part in ("tools/record_again.py", "tools/pack_record.py", "python/reprise/record_reader.py"):
            (self.folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TREE / part, self.folder / part)
        shutil.copytree(TREE / "python/reprise", self.folder / "python/reprise", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
        records = self.folder / "results/measurements"
        records.mkdir(parents=True)
        (records / "commands.json").write_text(json.dumps(COMMANDS))
        self.records = {name: records / f"{name}.jsonl.gz" for name in COMMANDS}
        for path in self.records.values():
            path.write_bytes(b"as before")
        (self.folder / ".gitignore").write_text("build/\n__pycache__/\n")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "sample")
        self.program = self.folder / "build/reprise"
        self.program.parent.mkdir()

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", *arguments],
                              cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def measure(self, *names, note=""):
        revision = self.git("rev-parse", "HEAD").strip()[:12]
        self.program.write_text(SAMPLE_PROGRAM.format(revision=revision, note=note, record=RECORD))
        self.program.chmod(0o755)
        return subprocess.run([sys.executable, self.folder / "tools/record_again.py", "--program", self.program, *names],
                              capture_output=True, text=True, check=False)

    def test_a_record_is_measured_by_its_command(self):
        done = self.measure("one")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("one: 0.0 minutes", done.stdout)
        line = gzip.decompress(self.records["one"].read_bytes()).decode().splitlines()[-1]
        self.assertEqual(json.loads(line)["point"], "p0")
        arguments = next(self.folder.glob("build/records/*/one/arguments.txt")).read_text()
        self.assertIn("run sample --set a=1 --scale desk", arguments)
        self.assertEqual(self.records["another"].read_bytes(), b"as before")

    def test_nothing_is_measured_that_the_record_does_not_name(self):
        for note in ("not here: sts15. What stands in for them runs. reprise data get sts15\n",
                     "left out: torch_sdpa. This program was built without libtorch.\n"):
            with self.subTest(note=note):
                done = self.measure("one", note=note)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stdout, f"one: left as it is: {note}")
                self.assertEqual(self.records["one"].read_bytes(), b"as before")
                self.assertFalse((self.folder / "build/records").exists(), "it measured")

    def test_a_command_that_cannot_start_is_named_and_the_others_are_measured(self):
        done = self.measure()
        self.assertEqual(done.returncode, 1)
        self.assertIn("another: `reprise run sample missing` can't start: error: there is no missing.csv", done.stdout)
        self.assertIn("one: 0.0 minutes", done.stdout)
        self.assertEqual(self.records["another"].read_bytes(), b"as before")

    @unittest.skipIf(PROGRAM is None, "no program was given")
    def test_the_program_prints_these_notes(self):
        home = self.folder / "home"
        home.mkdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("REPRISE_", "XDG_"))}
        done = subprocess.run([PROGRAM, "run", TREE / "experiments/attn_cache/fig1.json", "--scale", "desk", "--dry-run"],
                              env=environment | {"HOME": str(home), "REPRISE_SHARE_DIR": str(TREE)}, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("What stands in for them runs.", done.stderr)


if __name__ == "__main__":
    unittest.main()
