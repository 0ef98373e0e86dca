#!/usr/bin/env python3
"""gpu_run_test.py FOLDER: tests tools/gpu_run.py with stages that pass, fail and take too long."""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import unittest.mock

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TREE / "tools"))
import gpu_run  # noqa: E402  (the folder is an argument)
from gpu_stages import Stage, Step, all_stages, architectures, sanitizer, shell, smoke_stage, with_patience  # noqa: E402


class GpuRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def run_stages(self, *stages, revision="abc", goes_on=False):
        """Returns the exit status, summary.json and log.txt."""
        run = gpu_run.Run(self.out, {"revision": revision}, goes_on)
        for stage in stages:
            run.stage(stage)
        status = run.finish()
        return status, json.loads((self.out / "summary.json").read_text()), (self.out / "log.txt").read_text()

    def step(self, name, text, **more):
        return Step(name, shell(text), **more)

    def test_a_stage_that_fails_leaves_its_log_and_the_next_goes_on(self):
        self.out.mkdir()
        (self.out / "log.txt.step").write_text("of a run that was cut")
        status, summary, log = self.run_stages(
            Stage("1", "fails", 60, [self.step("bad", "echo what went wrong; exit 3"), self.step("after", "echo still here")]),
            Stage("2", "passes", 60, [self.step("good", "echo fine")]))
        self.assertEqual(status, 1)
        self.assertFalse(summary["passed"])
        first, second = summary["stages"]
        self.assertEqual([step["state"] for step in first["steps"]], ["failed", "passed"])
        self.assertEqual(first["steps"][0]["why"], "ended with status 3")
        self.assertEqual((first["state"], second["state"]), ("failed", "passed"))
        self.assertIn("==== 1 bad: failed", log)
        self.assertIn("what went wrong", log)
        self.assertIn("still here", log)
        self.assertNotIn("of a run that was cut", log)

    def test_all_passing_is_status_0(self):
        status, summary, _ = self.run_stages(Stage("1", "passes", 60, [self.step("left out", "exit 3", accepted=(0, 3))]))
        self.assertEqual(status, 0)
        self.assertTrue(summary["passed"])

    def test_nothing_goes_on_without_what_all_need(self):
        status, summary, _ = self.run_stages(
            Stage("1", "smoke", 60, [self.step("device", "exit 1", needed_by_all=True), self.step("tests", "true")]),
            Stage("2", "kernels", 60, [self.step("bench", "true")]))
        self.assertEqual(status, 1)
        later = [summary["stages"][0]["steps"][1], summary["stages"][1]["steps"][0]]
        for step in later:
            self.assertEqual((step["state"], step["why"]), ("not run", "1 device failed"))
        self.assertEqual(summary["stages"][1]["state"], "failed")

    def test_a_step_that_takes_too_long_is_stopped_with_all_it_started(self):
        marker = self.folder / "survived"
        start = time.monotonic()
        _, summary, log = self.run_stages(
            Stage("1", "slow", 1.5, [self.step("hangs", f"echo begun; (sleep 4; touch {marker}) & sleep 60"),
                                     self.step("after", "true")]))
        self.assertLess(time.monotonic() - start, 20)
        hangs, after = summary["stages"][0]["steps"]
        self.assertEqual(hangs["state"], "out of time")
        self.assertEqual((after["state"], after["why"]), ("not run", "the stage's time is used up"))
        self.assertIn("begun", log)
        time.sleep(max(0.0, start + 5 - time.monotonic()))
        self.assertFalse(marker.exists(), "what the step had started went on")

    def test_the_log_tells_which_test_hung(self):
        (self.folder / "CTestTestfile.cmake").write_text(
            "add_test(hangs /bin/sh -c \"echo it begins; sleep 60\")\nset_tests_properties(hangs PROPERTIES LABELS gpu)\n")
        tests = smoke_stage(self.folder).steps[-1]
        tests.most_s = 1
        _, summary, log = self.run_stages(Stage("1", "smoke", 60, [tests]))
        self.assertEqual(summary["stages"][0]["steps"][0]["state"], "out of time")
        self.assertIn("1: it begins", log)

    def test_a_steps_own_limit_leaves_time_to_the_next(self):
        _, summary, _ = self.run_stages(
            Stage("1", "slow", 60, [self.step("hangs", "sleep 60", most_s=1), self.step("after", "true")]))
        self.assertEqual([step["state"] for step in summary["stages"][0]["steps"]], ["out of time", "passed"])

    def test_records_are_kept_a_line_each_with_their_step(self):
        lines, whole = self.folder / "lines.jsonl", self.folder / "whole.json"
        _, summary, _ = self.run_stages(Stage("3", "records", 60, [
            self.step("lines", f"printf '{{\"a\": 1}}\\n{{\"a\": 2}}\\n' >{lines}", records=lines),
            self.step("whole", f"printf '{{\\n \"b\": 3\\n}}\\n' >{whole}; exit 1", records=whole)]))
        kept = [json.loads(line) for line in (self.out / "3.jsonl").read_text().splitlines()]
        self.assertEqual(kept, [{"step": "lines", "record": {"a": 1}}, {"step": "lines", "record": {"a": 2}},
                                {"step": "whole", "record": {"b": 3}}])
        self.assertEqual([step["records"] for step in summary["stages"][0]["steps"]], [2, 1])

    def test_a_step_without_its_records_has_failed(self):
        missing, broken = self.folder / "missing.json", self.folder / "broken.json"
        missing.write_text('{"from": "an earlier run"}')
        _, summary, _ = self.run_stages(Stage("2", "records", 60, [
            self.step("missing", "true", records=missing), self.step("broken", f"echo '{{' >{broken}", records=broken)]))
        for step in summary["stages"][0]["steps"]:
            self.assertEqual(step["state"], "failed")
            self.assertIn("no records", step["why"])

    def test_a_run_goes_on_where_it_was_cut(self):
        runs = self.folder / "runs"
        def stage(second, budget_s=60):
            out = self.folder / "records.jsonl"
            return Stage("1", "cut", budget_s, [
                self.step("first", f"echo first >>{runs}; echo '{{\"of\": \"first\"}}' >{out}", records=out),
                self.step("second", f"echo second >>{runs}; echo '{{\"of\": \"second\"}}' >{out}; {second}", records=out)])
        status, summary, _ = self.run_stages(stage("sleep 60", 1.5))
        self.assertEqual([step["state"] for step in summary["stages"][0]["steps"]], ["passed", "out of time"])
        status, summary, log = self.run_stages(stage("true"), goes_on=True)
        self.assertEqual(status, 0)
        self.assertEqual([step["state"] for step in summary["stages"][0]["steps"]], ["passed", "passed"])
        self.assertEqual(runs.read_text().split(), ["first", "second", "second"])
        kept = [json.loads(line)["record"] for line in (self.out / "1.jsonl").read_text().splitlines()]
        self.assertEqual(kept, [{"of": "first"}, {"of": "second"}])
        self.assertIn("out of time", log)   # of the run before
        self.run_stages(stage("true"), goes_on=True, revision="def")   # nothing of another revision is kept
        self.assertEqual(runs.read_text().split()[3:], ["first", "second"])

    def test_a_run_that_goes_on_remembers_the_stages_it_does_not_run(self):
        one, two = (Stage(key, "stage", 60, [self.step("a step", text)]) for key, text in (("1", "exit 3"), ("2", "true")))
        self.run_stages(one, two)
        status, summary, log = self.run_stages(two, goes_on=True)
        self.assertEqual((status, summary["passed"]), (1, False))
        self.assertEqual([(stage["stage"], stage["state"]) for stage in summary["stages"]], [("1", "failed"), ("2", "passed")])
        self.assertIn("==== 1 a step: failed", log)
        one.steps = [self.step("a step", "true")]
        status, summary, _ = self.run_stages(one, goes_on=True)
        self.assertEqual((status, [stage["stage"] for stage in summary["stages"]]), (0, ["1", "2"]))
        _, summary, _ = self.run_stages(two, goes_on=True, revision="def")   # nothing of another revision is kept
        self.assertEqual([stage["stage"] for stage in summary["stages"]], ["2"])

    def test_a_run_that_goes_on_builds_again(self):
        program = self.folder / "program"
        build = Stage("build", "the program", 60, [self.step("compile", f"touch {program}", builds=True)])
        self.run_stages(build, Stage("1", "cut", 60, [self.step("runs", "false")]))
        program.unlink()   # as on a fresh machine
        status, _, _ = self.run_stages(build, Stage("1", "cut", 60, [self.step("runs", f"test -f {program}")]), goes_on=True)
        self.assertEqual(status, 0)
        class Options:
            arch, jobs, revision = "90a-real", 2, "abc"
        steps = [step for stage in all_stages(TREE, self.folder, self.folder / "pack", Options()) for step in stage.steps]
        self.assertEqual([step.name for step in steps if step.builds], ["unpack", "configure", "compile", "torch"])

    def test_a_step_whose_program_or_module_is_missing_is_left_out(self):
        for need, absent_one, there_one, name in (("needs", "no-such-checker", "sh", "no-such-checker"),
                                                  ("needs_module", "no_such_module", "json", "Python module no_such_module")):
            status, summary, _ = self.run_stages(Stage("5", "checkers", 60, [
                self.step("absent", "exit 1", **{need: absent_one}), self.step("there", "exit 0", **{need: there_one})]))
            self.assertEqual(status, 0)
            absent, there = summary["stages"][0]["steps"]
            self.assertEqual((absent["state"], absent["why"]), ("left out", f"there is no {name} here"))
            self.assertEqual(there["state"], "passed")

    def test_patience_reaches_the_limits_of_steps(self):
        patient = with_patience(Stage("2", "kernels", 10, [self.step("own", "", most_s=4), self.step("rest", "")]), 2.5)
        self.assertEqual((patient.budget_s, [step.most_s for step in patient.steps]), (25, [10, None]))

    def test_a_new_run_forgets_the_records_of_stages_that_it_does_not_run(self):
        def writes(name):
            path = self.folder / f"{name}.jsonl"
            return self.step(name, f"echo '{{\"benchmark\": 1}}' >'{path}'", records=path)
        self.run_stages(Stage("2", "kernels", 60, [writes("two")]), Stage("3", "tables", 60, [writes("three")]))
        self.assertTrue((self.out / "3.jsonl").exists())
        self.run_stages(Stage("2", "kernels", 60, [writes("two")]), revision="def")
        self.assertTrue((self.out / "2.jsonl").exists())
        self.assertFalse((self.out / "3.jsonl").exists())

    def test_a_checker_that_found_no_device_has_not_passed(self):
        checker, program = self.folder / "compute-sanitizer", self.folder / "bin/cuda_device_attention_test"
        program.parent.mkdir()
        checker.write_text('#!/bin/sh\nshift 4\nexec "$@"\n')   # runs the program without checking it
        for path in (checker, program):
            path.touch()
            path.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
            for says, state in (("[  PASSED  ] 14 tests.", "passed"), ("[  PASSED  ] 0 tests.", "failed"), ("", "failed")):
                program.write_text(f"#!/bin/sh\necho before >&2\necho '{says}'\necho behind >&2\n")
                _, summary, log = self.run_stages(Stage("5", "checkers", 60, [sanitizer(self.folder, "memcheck", "*", 60)]))
                self.assertEqual(summary["stages"][0]["steps"][0]["state"], state, says)
                for line in ("before", says, "behind"):
                    self.assertIn(f"\n{line}\n", log)

    def test_a_program_that_is_not_there_is_named(self):
        _, summary, log = self.run_stages(Stage("2", "absent", 60, [Step("bench", ["/no/such/bench"])]))
        self.assertEqual(summary["stages"][0]["steps"][0]["status"], 127)
        self.assertIn("/no/such/bench cannot be started", log)

    def test_long_logs_keep_their_beginning_and_end(self):
        _, _, log = self.run_stages(Stage("1", "chatty", 60, [
            self.step("chatty", "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")]))
        self.assertLess(len(log), 300_000)
        for part in ("first", "last", "bytes left out"):
            self.assertIn(part, log)

    def test_a_build_is_for_every_device(self):
        program = self.folder / "nvidia-smi"
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            self.assertEqual(architectures(), "90a-real")
            for found, wanted in (("8.9", "89-real"), ("8.0\n9.0\n8.0", "80-real;90a-real"), ("12.0", "120-real")):
                program.write_text(f"#!/bin/sh\necho '{found}'\n")
                program.chmod(0o755)
                self.assertEqual(architectures(), wanted)

    def test_out_never_has_more_files_than_come_back(self):
        class Options:
            arch, jobs, revision = "90a-real", 2, "abc"
        stages = all_stages(TREE, self.folder / "build", self.folder / "pack.tar.gz", Options())
        self.assertEqual([stage.key for stage in stages], ["build", *gpu_run.STAGES])
        self.assertGreaterEqual(stages[0].budget_s, 400, "nvcc took 336 s for attention_bf16.cu alone")
        self.assertLessEqual(stages[0].budget_s + stages[1].budget_s, 570, "the first call builds and runs stage 1")
        with_records = [stage for stage in stages if any(step.records for step in stage.steps)]
        self.assertLessEqual(2 + len(with_records), 8)
        for stage in stages[1:]:
            self.assertLessEqual(stage.budget_s, 570, "a call of the machine takes ten minutes at most")

    def test_experiments_that_the_stages_run_are_there(self):
        class Options:
            arch, jobs, revision = "90a-real", 2, "abc"
        for stage in all_stages(TREE, self.folder, self.folder / "pack", Options()):
            for step in stage.steps:
                if "run" in step.command:
                    name = step.command[step.command.index("run") + 1]
                    self.assertTrue((TREE / "experiments" / f"{name}.json").is_file(), name)


unittest.main()
