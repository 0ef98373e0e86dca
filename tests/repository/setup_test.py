#!/usr/bin/env python3
"""setup_test.py TREE: tests what setup.sh asks of apt, sudo and pip, for which stubs stand in."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
STUBS = {
    # Each package is installed for two architectures, except $ABSENT, which is not installed.
    "dpkg-query": """[ "$3" != "$ABSENT" ] || exit 1
case "$2" in *'\\n') printf 'installed\\ninstalled\\n' ;; *) printf installedinstalled ;; esac""",
    "apt-get": "", "apt-cache": "exit 1", "id": "echo 1000", "sudo": 'echo "sudo $*"',
    # Its pip is that of Ubuntu 22.04. $IS_OLD is 0 for Python 3.10, else 1.
    "python3": """case "$*" in
  -c*) exit "$IS_OLD" ;;
  *--root-user-action*) exit 2 ;;
  *install*) echo "pip $PIP_ROOT_USER_ACTION $*" ;;
esac"""}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(TREE / "setup.sh", self.folder)
        (self.folder / "bin").mkdir()
        for name, text in STUBS.items():
            stub = self.folder / "bin" / name
            stub.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            stub.chmod(0o755)

    def printed(self, *options, **environment):
        done = subprocess.run([self.folder / "setup.sh", *options], capture_output=True, text=True, check=False,
                              env={"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "ABSENT": "none", **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_package_of_two_architectures_is_there(self):
        self.assertIn("nothing to install", self.printed())

    def test_what_a_package_list_lacks_is_said_with_a_remedy(self):
        self.assertIn("apt knows no package libfaiss-dev", self.printed(ABSENT="libfaiss-dev"))

    def test_sudo_keeps_the_proxies(self):
        for environment, keeps in (({}, False), ({"https_proxy": "http://proxy:3128"}, True)):
            calls = [line for line in self.printed(ABSENT="cmake", **environment).splitlines() if line.startswith("sudo")]
            self.assertEqual(len(calls), 2)
            for call in calls:
                self.assertEqual("--preserve-env=http_proxy,https_proxy,no_proxy" in call, keeps)

    def test_torch_is_the_newest_that_the_python_can_install(self):
        for is_old, version in (("1", "2.15.0"), ("0", "2.14.1")):
            text = self.printed("--torch", IS_OLD=is_old)
            self.assertIn("pip ignore -m pip install", text)
            self.assertIn(f" torch=={version} ", text)


unittest.main()
