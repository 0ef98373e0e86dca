"""Texts of results as they may stand in a page, whoever wrote them."""
import re

from markupsafe import Markup

# Control characters, marks that turn the direction of a line, separators of lines, and what XML does not allow.
MISLEADING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
SHORT_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def written_out(character: str) -> str:
    """"\\n", "\\x1b" byte by byte of a control character, "\\u202e" of another."""
    if character in SHORT_NAMES:
        return SHORT_NAMES[character]
    if ord(character) < 0xA0:
        return "".join(f"\\x{byte:02x}" for byte in character.encode())
    return f"\\u{ord(character):04x}"


def visible(value: object) -> object:
    """What a template prints, before it is escaped: markup of our own as it is, any other text without characters that
    would mislead a reader."""
    if isinstance(value, Markup):
        return value
    return MISLEADING.sub(lambda found: written_out(found.group()), str(value))
