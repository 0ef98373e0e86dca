#!/bin/sh
# Runs openai_client_test.py with the first python that has the openai client; 77 tells ctest that it was skipped.
for python in ${REPRISE_PYTHON:+"$REPRISE_PYTHON"} python3 /usr/bin/python3; do
  if "$python" -c "import openai" >/dev/null 2>&1; then
    exec "$python" "$(dirname "$0")/openai_client_test.py" "$1"
  fi
done
echo "skipped: no python3 with the openai client (pip install openai, or set REPRISE_PYTHON)"
exit 77
