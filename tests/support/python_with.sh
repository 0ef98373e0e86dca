#!/bin/sh
# python_with.sh LIBRARY TEST [ARGUMENT...]: runs the test with the first python that has the library; 77 tells ctest that it
# was skipped.
library=$1
shift
for python in ${REPRISE_PYTHON:+"$REPRISE_PYTHON"} python3 /usr/bin/python3; do
  if "$python" -c "import $library" >/dev/null 2>&1; then
    exec "$python" "$@"
  fi
done
echo "skipped: no python3 with $library (install the package python3-$library or, where the system has none, python3 -m pip" \
     "install $library; or set REPRISE_PYTHON)"
exit 77
