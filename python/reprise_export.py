#!/usr/bin/env python3
"""What `reprise export` runs for the formats of other programs: reprise_export.py RESULTS --format FORMAT [--out PATH]"""
import sys

from reprise.export import main

sys.exit(main())
