"""Views of record files in DuckDB, which reads the files as they are."""
import pathlib
import re

from . import record_reader


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def literal(path):
    """Escapes the characters that DuckDB takes for a pattern of file names."""
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))


def views(*sources):
    """Returns the SQL that makes the views points, metrics and samples (views.sql) of folders and files of records:

        duckdb.connect().execute(reprise.views("out/quickstart/desk"))

    The views have the labels in the records, not those of a folder's run.json. They also have records of other settings
    than run.json's. Raises ValueError for a folder without records."""
    files = [file for source in sources for file in record_reader.files_of(source)]
    text = (pathlib.Path(__file__).parent / "views.sql").read_text(encoding="utf-8")
    return f"SET VARIABLE reprise_files = [{', '.join(map(quoted, map(literal, files)))}];\n{text}"
