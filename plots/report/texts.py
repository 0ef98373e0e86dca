"""Values and titles as words."""
import json


def json_text(value: object) -> str:
    """A text as it is, any other value as its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def listed(values: dict) -> str:
    """"prompts 1, weights 2"."""
    return ", ".join(f"{name} {json_text(value)}" for name, value in values.items())


def lines_of(text: str) -> list[str]:
    """Its lines, each of which ends with a newline. Other separators of lines are a reader's text."""
    return text.rstrip("\n").split("\n") if text else []


def title_of(report: dict) -> str:
    return report["caption"]["title"] or report["run"]["settings"]["name"]


def origin_of(report: dict) -> str:
    """"After ChunkAttention, Table 3."; "" where the experiment is after no paper."""
    parts = [part for part in (report["caption"]["paper"], report["caption"]["figure"]) if part]
    return f"After {', '.join(parts)}." if parts else ""


def note_parts(note: str) -> list[tuple[str, bool]]:
    """(text, whether it is a name) of a note that writes names `as this`. A backtick without its other is text."""
    parts = note.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [parts[-2] + "`" + parts[-1]]
    return [(part, i % 2 == 1) for i, part in enumerate(parts)]
