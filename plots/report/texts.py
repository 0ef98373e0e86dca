"""Formats values and titles as text."""
import json


def json_text(value: object) -> str:
    """Returns a string unchanged, and any other value as its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def listed(values: dict) -> str:
    """Returns "prompts 1, weights 2"."""
    return ", ".join(f"{name} {json_text(value)}" for name, value in values.items())


def lines_of(text: str) -> list[str]:
    """Splits a text at newlines only. Other line separators are part of the text."""
    return text.rstrip("\n").split("\n") if text else []


def title_of(report: dict) -> str:
    return report["caption"]["title"] or report["run"]["settings"]["name"]


def origin_of(report: dict) -> str:
    """Returns "After ChunkAttention, Table 3."; "" if the experiment follows no paper."""
    parts = [part for part in (report["caption"]["paper"], report["caption"]["figure"]) if part]
    return f"After {', '.join(parts)}." if parts else ""


def note_parts(note: str) -> list[tuple[str, bool]]:
    """Returns (text, True if it is a name) for each part of a note that writes names `as this`. A single backtick is
    text."""
    parts = note.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [parts[-2] + "`" + parts[-1]]
    return [(part, i % 2 == 1) for i, part in enumerate(parts)]
