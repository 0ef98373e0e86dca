"""The origin of the numbers: machine, limits, code, seeds, and the time of the measurement. `report` is one of the
document's reports."""
import calendar
import re
from collections.abc import Callable, Iterable

from common import processors_text
from report.texts import json_text, listed

LEAST_PAUSE_S = 300  # without a pause, the next point follows within seconds
MOST_FILES = 40  # most lines on the files of models and workload

UTC = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})")


def different(texts: Iterable[str]) -> str:
    """Joins the different texts, sorted, without empty ones."""
    return "; ".join(sorted({text for text in texts if text}))


def seconds_of(utc: str) -> int | None:
    """Returns seconds since 1970 for "2026-01-31T12:34:56.789Z"."""
    found = UTC.match(utc) if isinstance(utc, str) else None
    return calendar.timegm(tuple(map(int, found.groups()))) if found else None


def duration_text(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def pauses(records: list[dict]) -> list[int]:
    """Returns the pauses in seconds between the end of all points so far and the beginning of the next."""
    times = [(seconds_of(record.get("started_at", "")), seconds_of(record.get("ended_at", ""))) for record in records]
    times = sorted(((begin, end) for begin, end in times if begin is not None and end is not None),
                   key=lambda time: time[0])
    found, last_end = [], None
    for begin, end in times:
        if last_end is not None:
            found.append(begin - last_end)
        last_end = end if last_end is None else max(last_end, end)
    return found


def pauses_text(records: list[dict]) -> str:
    long = [pause for pause in pauses(records) if pause >= LEAST_PAUSE_S]
    if not long:
        return ""
    return (f"{len(long)} of more than {duration_text(LEAST_PAUSE_S)}, the longest {duration_text(max(long))}: the run was "
            "ended and resumed, or waited")


def time_text(records: list[dict]) -> str:
    return (f"{min(record.get('started_at', '') for record in records)} to "
            f"{max(record.get('ended_at', '') for record in records)}")


def machine_text(record: dict, fact: dict) -> str:
    machine, mib = record["machine"], fact["caches_mib"]
    text = f"{processors_text(record)}, {json_text(machine.get('logical_cores', '?'))} logical cores"
    if "l2_bytes" not in machine:
        return text

    def cache(key: str) -> str:
        return f"{mib[key]} MiB" if key in mib else "?"
    return f"{text}, L2 {cache('l2_bytes')}, L3 {cache('l3_bytes')}"


def revision_text(made: dict) -> str:
    return made.get("revision", "unknown") + (" (modified)" if made.get("dirty") is True else "")


def libraries_text(made: dict) -> str:
    libraries = made.get("libraries")
    return listed(libraries) if isinstance(libraries, dict) else ""


def shared_settings_text(report: dict) -> str:
    """Lists the settings that all points share, so that no table has them as a column."""
    names = {name for record in report["records"] for name, value in record["settings"]["requested"].items()
             if not isinstance(value, dict) or name == "workload"}
    return ", ".join(
        f"{name} {different(fact['settings'].get(name, 'null') for fact in report['facts'])}"
        for name in sorted(names - set(report["keys"])))


def paths_of(value: object, path: str = "") -> Iterable[str]:
    """Yields "config 12ab": a line for each value inside, with the keys or indices that lead to it."""
    if not isinstance(value, (dict, list)):
        yield f"{path} {json_text(value)}"
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from paths_of(part, f"{path} {key}".strip())


def files_text(record: dict) -> str:
    if "sources" not in record:
        return ""
    return ", ".join(line for _, line in zip(range(MOST_FILES), paths_of(record["sources"])))


def facts_of(report: dict) -> list[tuple[str, str]]:
    """Returns (term, text) in the order in which readers ask; empty texts are left out."""
    records, settings = report["records"], report["run"]["settings"]
    points = list(zip(records, report["facts"]))

    def made(text_of: Callable[[dict], str]) -> str:
        return different(text_of(record["provenance"]) for record in records)
    facts = [("results", report["source"]),
             ("experiment", f"{settings['name']}, kind {settings['kind']}, scale {settings['scale']}"),
             ("settings' hash", different(record["config_hash"] for record in records)),
             ("measured", time_text(records)),
             ("pauses", pauses_text(records)),
             ("processes", different(json_text(record.get("writer", "")) for record in records)),
             ("machine", different(machine_text(*point) for point in points)),
             ("measured limits", different(listed(fact["limits"]) for fact in report["facts"])),
             ("code revision", made(revision_text)),
             ("compiler", made(lambda one: one.get("compiler", ""))),
             ("flags", made(lambda one: one.get("flags", ""))),
             ("libraries", made(libraries_text)),
             ("seeds", different(listed(record["seeds"]) for record in records)),
             ("settings of all points", shared_settings_text(report)),
             ("files", different(files_text(record) for record in records))]
    return [(term, text) for term, text in facts if text]
