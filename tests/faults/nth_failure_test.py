#!/usr/bin/env python3
"""nth_failure_test.py PROGRAM LIBRARY: lets the n-th allocation, then the n-th write of commands fail. Each command must
end with its usual result or with status 1 and a reason, never by a signal. Files must then have
their old content or the right new one: the same command without failures must end with the usual result.

REPRISE_FAULTS is the largest n (default 500, of which a sample is taken: each n takes two commands); REPRISE_FAULTS=500!
takes every n."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY = pathlib.Path(sys.argv.pop()).resolve()
PROGRAM = pathlib.Path(sys.argv.pop()).resolve()
PML = pathlib.Path(__file__).resolve().parents[2] / "experiments/prompt_cache/pml"
WANTED = os.environ.get("REPRISE_FAULTS", "500")
MOST = int(WANTED.rstrip("!"))
SAMPLE = 24


def places(count):
    """Returns the n that are tried: all, or the first ones and a sample of the others."""
    last = min(MOST, count)
    if WANTED.endswith("!") or last <= SAMPLE:
        return range(1, last + 1)
    return sorted(random.Random(1).sample(range(1, last + 1), SAMPLE))


class NthFailure(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="reprise-faults-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_command(self, words, **failing):
        environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "FAIL_COUNTS": str(self.folder / "counts"),
                       **{name: str(n) for name, n in failing.items()}}
        (self.folder / "counts").unlink(missing_ok=True)
        return subprocess.run([str(PROGRAM), *words], env=environment, capture_output=True, check=False, timeout=120,
                              cwd=self.folder)

    def counts(self):
        allocations, writes = (self.folder / "counts").read_text().split()
        return {"FAIL_ALLOCATION": int(allocations), "FAIL_WRITE": int(writes)}

    def try_all(self, words, check, prepare=lambda: None):
        """Tries every n. `check(result, is_failing)` compares the files with what they should be. `prepare` makes the folder
        anew."""
        prepare()
        usual = self.run_command(words)
        self.assertEqual(usual.returncode, 0, usual.stderr)
        counts = self.counts()
        check(usual, False)
        tried = failed = 0
        for kind, count in counts.items():
            for n in places(count):
                with self.subTest(command=words[0], **{kind: n}):
                    prepare()
                    result = self.run_command(words, **{kind: n})
                    self.assertIn(result.returncode, (0, 1), f"status {result.returncode}: {result.stderr[-2000:]}")
                    if result.returncode == 1:
                        failed += 1
                        self.assertIn(b"reprise", result.stderr)
                    check(result, True)
                    again = self.run_command(words)
                    self.assertEqual(again.returncode, 0, again.stderr)
                    check(again, False)
                tried += 1
        print(f"{words[0]}: {counts}, {tried} tried, {failed} ended with status 1", file=sys.stderr)
        self.assertGreater(tried, 0)

    def test_logits_are_whole_or_absent(self):
        out = self.folder / "logits.f32"
        words = ["logits", "--model", "quickstart", "--ids", "3,4,5", "--out", str(out)]
        self.run_command(words)
        usual = out.read_bytes()

        def check(result, is_failing):
            if out.exists() or not is_failing:
                self.assertEqual(out.read_bytes(), usual)
        self.try_all(words, check, lambda: out.unlink(missing_ok=True))

    def test_generated_text_is_a_beginning_of_the_usual(self):
        words = ["generate", "--model", "quickstart", "--prompt", "Once upon", "--max-new-tokens", "12"]
        usual = self.run_command(words).stdout

        def check(result, is_failing):
            if is_failing and result.returncode != 0:
                self.assertTrue(usual.startswith(result.stdout.rstrip(b"\n")), result.stdout)
            else:
                self.assertEqual(result.stdout, usual)
        self.try_all(words, check)

    def test_a_store_holds_whole_states(self):
        store = self.folder / "store"
        words = ["pml", "run", str(PML / "travel.schema.xml"), str(PML / "travel.prompt.xml"), "--model", "quickstart",
                 "--max-new-tokens", "8", "--store", str(store)]
        usual = self.run_command(words).stdout

        def check(result, is_failing):
            if result.returncode == 0:
                self.assertEqual(result.stdout, usual)
            if store.exists() and any(store.iterdir()):
                verified = subprocess.run([str(PROGRAM), "store", "verify", str(store)], capture_output=True, check=False)
                self.assertIn(verified.returncode, (0, 1))
                self.assertNotIn(b".segment is no sound", verified.stdout + verified.stderr)
        self.try_all(words, check, lambda: shutil.rmtree(store, ignore_errors=True))

    def test_no_record_is_lost(self):
        base, out = self.folder / "base", self.folder / "out"
        words = ["run", "quickstart", "--scale", "smoke", "--set", "repetitions=1", "--set", "sweep.prompt_tokens=4,8",
                 "--no-plot", "--out"]
        self.assertEqual(self.run_command([*words, str(base)]).returncode, 0)
        lines = (base / "records.jsonl").read_bytes().splitlines(keepends=True)
        kept = b"".join(lines[:3])  # the run's entry and the two records of the first group

        def prepare():
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(base, out)
            (out / "records.jsonl").write_bytes(kept)

        def check(result, is_failing):
            found = (out / "records.jsonl").read_bytes()
            self.assertTrue(found.startswith(kept), "the records of before")
            if not is_failing:
                self.assertEqual(found.count(b"\n"), len(lines))
        self.try_all([*words, str(out)], check, prepare)


if __name__ == "__main__":
    unittest.main()
