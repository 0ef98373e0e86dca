"""Makes texts of results safe for a page, because results may come from anyone."""
import re

from markupsafe import Markup

# Control characters, marks that change the direction of a line, line separators, and characters that XML forbids.
MISLEADING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
SHORT_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def written_out(character: str) -> str:
    """Returns a control character byte by byte as "\\n" or "\\x1b", and another character as "\\u202e"."""
    if character in SHORT_NAMES:
        return SHORT_NAMES[character]
    if ord(character) < 0xA0:
        return "".join(f"\\x{byte:02x}" for byte in character.encode())
    return f"\\u{ord(character):04x}"


def visible(value: object) -> object:
    """Prepares a value before a template escapes it: our own markup unchanged, any other text without characters that
    would mislead a reader."""
    if isinstance(value, Markup):
        return value
    return MISLEADING.sub(lambda found: written_out(found.group()), str(value))
