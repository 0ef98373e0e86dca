"""The command `reprise` of the wheel: becomes the program, which lies beside this file with its data.

The program draws figures with the Python that REPRISE_PYTHON names, by default the one of this installation, because the
wheel's dependencies are there.
"""
import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin" / "reprise"
    os.environ.setdefault("REPRISE_PYTHON", sys.executable)
    os.execv(program, ["reprise", *sys.argv[1:]])
