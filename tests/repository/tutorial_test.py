#!/usr/bin/env python3
"""tutorial_test.py PART TREE BUILD PROGRAM: runs the commands of docs/tutorial.md in order, in a folder of their own.

PART `run` is the sections that need the program as it is built, `method` those that build it with a further method. A block of
commands must end with status 0. Each line of the block of output after it must be among what the commands print: white space
may differ, and `...` stands for anything. Each path `out/...` that the text names must then be there.

Commands run as they are written, apart from what SMALLER replaces: fewer points, smaller models, and a configuration without
tests. `make program` would compile the tree anew. Instead, the two files that a further method adds to a build are compiled as
BUILD compiles, and linked with its libraries (needs Ninja).
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PART = sys.argv.pop(1)
TREE, BUILD, PROGRAM = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
PAGE = (TREE / "docs/tutorial.md").read_text(encoding="utf-8")
SECTIONS = {"run": ["Tutorial: half an hour with Reprise", "1. Reproduce a table of a paper",
                    "2. Find the prefixes for which RelayAttention pays", "4. Bring your trace"],
            "method": ["3. Add a method", "5. Compare two revisions"]}
TEXT_ONLY = {"Where to read on"}
SMALLER = {
    "reprise run chunk_attention/table3 ": "reprise run chunk_attention/table3 --scale smoke ",
    "sweep.prompt_tokens=1024": "sweep.prompt_tokens=128",
    "reprise run shared_prefix/crossover ": "reprise run shared_prefix/crossover --scale smoke ",
    "settings.heads=32 --set sweep.kv_heads=8": "settings.heads=4 --set sweep.kv_heads=2",
    "sweep.shared_tokens=16,64,256,1024": "sweep.shared_tokens=16,64",
    "reprise run serving/traces ": "reprise run serving/traces --set models=models/quickstart ",
    "cmake --preset release ": "cmake --preset release -DREPRISE_TESTS=OFF -DREPRISE_BENCHMARKS=OFF ",
    "repetitions=25": "repetitions=3",
    "make program": "sh ../make_program.sh",
}


def sections():
    """Returns the text below each heading of the page."""
    parts = re.split(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def blocks(text):
    """Returns the fenced blocks of a section as pairs of kind and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def smaller(commands):
    for wanted, instead in SMALLER.items():
        commands = commands.replace(wanted, instead)
    return commands


def prints(output, line):
    """Whether the output holds the line; white space may differ, and `...` stands for anything."""
    words = [".*" if word == "..." else re.escape(word) for word in line.split()]
    return any(re.fullmatch(r"\s+".join(words), row.strip()) for row in output.splitlines())


def make_program(folder):
    """Returns shell commands that link the program with the method in folder/my_method."""
    ours = next(entry for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
                if pathlib.Path(entry["file"]).name == "method_list.cpp")
    lines = [f"set -e; cd {shlex.quote(ours['directory'])}"]
    objects = []
    for source in (folder / "reprise/build/release/methods/method_list.cpp", folder / "my_method/method.cpp"):
        command, objects = shlex.split(ours["command"]), [*objects, str(folder / f"{source.stem}.o")]
        command[command.index("-o") + 1] = objects[-1]
        command[command.index("-c") + 1] = str(source)
        lines.append(shlex.join(command))
    every = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "reprise"], capture_output=True, text=True, check=True).stdout
    link = next(line for line in every.splitlines() if " -o bin/reprise " in line)
    program = folder / "reprise/build/release/bin/reprise"
    lines.append(f"mkdir -p {shlex.quote(str(program.parent))}")
    # Objects come before the libraries, so that their list of methods is taken.
    lines.append(link.replace(" -o bin/reprise ", f" {shlex.join(objects)} -o {shlex.quote(str(program))} "))
    return "\n".join(lines) + "\n"


class Tutorial(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="reprise_tutorial_")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tree = self.folder / "reprise"
        self.tree.mkdir()
        for path in TREE.iterdir():
            if path.name not in {"build", "out", ".git"}:
                (self.tree / path.name).symlink_to(path)

    def run_section(self, heading):
        text, output = sections()[heading], None
        for kind, block in blocks(text):
            if kind == "sh":
                ran = subprocess.run(["bash", "-euo", "pipefail", "-c", smaller(block)], cwd=self.tree, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                     env={**os.environ, "COLUMNS": "120", "REPRISE_PYTHON": sys.executable,
                                          "PATH": f"{self.tree}/build/release/bin:{os.environ['PATH']}"})
                output = ran.stdout
                self.assertEqual(ran.returncode, 0, f"{heading}:\n{block}\n{output}")
            else:
                self.assertEqual(kind, "text", "blocks are commands (sh) or what they print (text)")
                for line in block.splitlines():
                    self.assertTrue(prints(output, line), f"{heading}: not printed: {line}\n{output}")
        for path in re.findall(r"`(out/[^` ]+)`", text):
            self.assertTrue((self.tree / path).exists(), f"{heading}: there is no {path}")

    def test_commands(self):
        if PART == "run":
            program = self.tree / "build/release/bin/reprise"
            program.parent.mkdir(parents=True)
            program.symlink_to(PROGRAM)
        else:
            (self.folder / "make_program.sh").write_text(make_program(self.folder))
        for heading in SECTIONS[PART]:
            self.run_section(heading)

    def test_each_section_is_run_and_each_replacement_used(self):
        self.assertEqual(set(sections()), {*SECTIONS["run"], *SECTIONS["method"], *TEXT_ONLY})
        self.assertFalse(any(blocks(sections()[heading]) for heading in TEXT_ONLY))
        commands = "".join(block for kind, block in blocks(PAGE) if kind == "sh")
        self.assertEqual([wanted for wanted in SMALLER if wanted not in commands], [])
        self.assertNotRegex(PAGE, r"(?m)^    \S", "indented blocks are not run; use sh or text")

    def test_output_is_compared(self):
        table = "batch  method        speedup\n   16  auto   1.2 (1.1 to 1.3)\n"
        self.assertTrue(prints(table, "16 auto ..."))
        self.assertTrue(prints(table, "batch method speedup"))
        self.assertFalse(prints(table, "16 auto"))
        self.assertFalse(prints(table, "6 auto ..."))


unittest.main()
