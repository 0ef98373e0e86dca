#!/usr/bin/env python3
"""Runs the part of `reprise export` for other programs' formats: reprise_export.py RESULTS --format FORMAT [--out PATH]"""
import sys

from reprise.export import main

sys.exit(main())
