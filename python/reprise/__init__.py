"""Results of Reprise in Python: records() and samples() as tables of pandas or Arrow, views() for DuckDB.

    import reprise
    points = reprise.records("out/quickstart/desk")

pandas, pyarrow and duckdb are imported only by the functions that need them.
"""
from .frames import records, samples
from .views import views

__all__ = ["records", "samples", "views"]
