"""Writes the schema's tree, and the prompt's own text, as PML."""
import dataclasses

from prompt_program import LINE, NOT_IN_XML, OwnText, Param, ProgramError, Turn, Union


def joined(children):
    """Joins neighbouring texts, with a line break between those of two statements."""
    merged, ends_line = [], False
    for i, child in enumerate(children):
        if child is LINE:
            follows = children[i + 1] if i + 1 < len(children) else None
            if isinstance(follows, OwnText):
                follows.is_line = ends_line    # the line break is the prompt's
            elif ends_line:
                append_text(merged, "\n")
            ends_line = False
            continue
        if isinstance(child, str):
            append_text(merged, child)
        else:
            merged.append(child)
        ends_line = isinstance(child, (str, Param))
    return merged


def append_text(merged, text):
    if merged and isinstance(merged[-1], str):
        merged[-1] += text
    elif text:
        merged.append(text)


def checked_text(node, text):
    found = NOT_IN_XML.search(text)
    if found:
        raise ProgramError(node, f"the character U+{ord(found[0]):04X} cannot stand in XML; leave it out")
    return text


def escaped(text):
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = text.replace(character, entity)
    return text


def verbatim(space):
    """Returns white space as CDATA. A parser makes a line feed of a bare \\r, so that is written as a character's number,
    between CDATA: it would be dropped at the ends of a text."""
    return "&#13;".join(f"<![CDATA[{part}]]>" for part in space.split("\r")) if space else ""


def takes_space(before):
    """Tells whether PML puts the end of the text `before` a parameter, one space, into the parameter's argument."""
    text = before if isinstance(before, str) else ""
    middle = text.rstrip(" \t\n\r")
    return middle != "" and text[len(middle):] == " "


def written_text(text, is_first, is_before_param):
    """Returns the PML of a text. PML makes one space of white space before a text, except before the schema's first, and
    drops what stands behind a text, except one space before an argument; what differs from that goes into CDATA."""
    middle = text.strip(" \t\n\r")
    begin = text.find(middle) if middle else len(text)
    before, behind = text[:begin], text[begin + len(middle):]
    if before != " " or is_first or not middle:
        before = verbatim(before)
    if behind != " " or not is_before_param:
        behind = verbatim(behind)
    return before + escaped(middle) + behind


def written_body(body):
    """Returns the PML of the content of a module or the schema. Nothing is put between elements, since white space is text."""
    return "".join(written_text(node, i == 0 or isinstance(body[i - 1], Turn),
                                i + 1 < len(body) and isinstance(body[i + 1], Param))
                   if isinstance(node, str) else written(node) for i, node in enumerate(body))


def written(node):
    """Returns the PML of an element."""
    if isinstance(node, Param):
        return f'<param name="{node.name}" len="{node.length}"/>'
    if isinstance(node, Union):
        return "<union>" + "".join(map(written, node.members)) + "</union>"
    if isinstance(node, Turn):
        body = written_body(node.body)
        return f'<{node.role} part="open"/>{body}' if node.is_open else f"<{node.role}>{body}</{node.role}>"
    body = written_body(node.body)
    return f'<module name="{node.name}">{body}</module>' if body else f'<module name="{node.name}"/>'


# The prompt's own text

@dataclasses.dataclass
class Tail:
    """What stands behind the modules in a prompt: its own text, and the turn that it is in."""
    text: OwnText = None
    turn: Turn = None    # has no body if the whole turn belongs to the prompt


def cut_tail(body):
    """Takes the prompt's own text off the end of the schema's body, and returns it."""
    tail = Tail()
    last = body[-1] if body else None
    if isinstance(last, OwnText):
        tail.text = body.pop()
    elif isinstance(last, Turn) and last.body and isinstance(last.body[-1], OwnText):
        tail.text, tail.turn = last.body.pop(), last
        last.is_open = bool(last.body)
        if not last.body:
            body.pop()
    for found in own_texts(body):
        raise ProgramError(found.node, f'"{found.node.id}" is text that a prompt brings itself, which stands behind all '
                                       "else: make it the last statement, of the last turn if there are any")
    return tail


def own_texts(body):
    for node in body:
        if isinstance(node, OwnText):
            yield node
        elif isinstance(node, Turn):
            yield from own_texts(node.body)


def written_tail(tail, text):
    """Returns the PML of the prompt's own text and of its turn's ends. A turn that the schema opens is closed in any case."""
    if not text:
        return f'<{tail.turn.role} part="close"/>' if tail.turn is not None and tail.turn.is_open else ""
    text = written_text(("\n" if tail.text.is_line else "") + text, True, False)
    if tail.turn is None:
        return text
    return f'{text}<{tail.turn.role} part="close"/>' if tail.turn.is_open else f"<{tail.turn.role}>{text}</{tail.turn.role}>"


# Calls: what the program would do with these arguments, found without running it
