#!/usr/bin/env python3
"""Runs the part of `reprise export` for other programs' formats: reprise_export.py RESULTS --format FORMAT [--out PATH]"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # where PYTHONSAFEPATH keeps Python from looking
from reprise.export import main

sys.exit(main())
