#!/bin/sh
# plots_test.sh LIBRARY TEST PLOTS: runs the test with the first python that has the library; 77 tells ctest that it was
# skipped.
for python in ${REPRISE_PYTHON:+"$REPRISE_PYTHON"} python3 /usr/bin/python3; do
  if "$python" -c "import $1" >/dev/null 2>&1; then
    exec "$python" "$(dirname "$0")/$2" "$3"
  fi
done
echo "skipped: no python3 with $1 (install the package python3-$1, or set REPRISE_PYTHON)"
exit 77
