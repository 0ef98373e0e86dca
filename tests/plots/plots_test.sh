#!/bin/sh
# Runs plots_test.py with the first python that has matplotlib; 77 tells ctest that it was skipped.
for python in ${REPRISE_PYTHON:+"$REPRISE_PYTHON"} python3 /usr/bin/python3; do
  if "$python" -c "import matplotlib" >/dev/null 2>&1; then
    exec "$python" "$(dirname "$0")/plots_test.py" "$1"
  fi
done
echo "skipped: no python3 with matplotlib (install python3-matplotlib, or set REPRISE_PYTHON)"
exit 77
