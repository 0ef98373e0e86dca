#!/bin/sh
# python_with.sh LIBRARIES TEST [ARGUMENT...]: runs the test with the first python that has the libraries ("pandas" or
# "pandas, matplotlib"); 77 tells ctest that it was skipped.
libraries=$1
shift
for python in ${REPRISE_PYTHON:+"$REPRISE_PYTHON"} python3 /usr/bin/python3; do
  if "$python" -c "import $libraries" >/dev/null 2>&1; then
    exec "$python" "$@"
  fi
done
echo "skipped: no python3 with $libraries (install what is missing, by a package python3-NAME or python3 -m pip install NAME," \
     "or set REPRISE_PYTHON)"
exit 77
