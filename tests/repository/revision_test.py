#!/usr/bin/env python3
"""revision_test.py TREE CMAKE: tests which revision cmake/revision.cmake writes for records."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, TREE = sys.argv.pop(2), pathlib.Path(sys.argv.pop(1)).resolve()


@unittest.skipUnless(shutil.which("git"), "there is no git")
class Revision(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = pathlib.Path(folder.name)
        self.tree = self.repository / "third_party/reprise"
        self.tree.mkdir(parents=True)
        (self.tree / "file").write_text("1", encoding="utf-8")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "one")
        self.head = self.git("rev-parse", "HEAD")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.repository, check=True, capture_output=True, text=True).stdout.strip()

    def written(self, tree, given=""):
        """Returns revision, dirty and changes as the script writes them."""
        header = self.repository / ".git/revision.h"
        subprocess.run([CMAKE, f"-DSOURCE_DIR={tree}", f"-DOUTPUT={header}", f"-DREVISION={given}", "-P",
                        TREE / "cmake/revision.cmake"], check=True, capture_output=True)
        return tuple(re.findall(r"#define \w+ \"?(\w*)", header.read_text(encoding="utf-8")))

    def test_the_trees_own_repository_names_it(self):
        self.assertEqual(self.written(self.repository), (self.head, "0", ""))
        (self.tree / "file").write_text("2", encoding="utf-8")
        revision, dirty, changes = self.written(self.repository)
        self.assertEqual((revision, dirty, len(changes)), (self.head, "1", 12))

    def test_a_repository_around_the_tree_does_not(self):
        self.assertEqual(self.written(self.tree), ("unknown", "0", ""))

    def test_a_given_revision_comes_first(self):
        for tree in (self.repository, self.tree):
            self.assertEqual(self.written(tree, "abc123"), ("abc123", "0", ""))
            self.assertEqual(self.written(tree, "abc123+"), ("abc123", "1", "packed"))


unittest.main()
