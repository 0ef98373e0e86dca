"""What a prompt program says: its functions and parameters, and the schema's tree that is made of them."""
import ast
import dataclasses
import difflib
import re

DECORATOR = "prompt"
LENGTHS = "max_length"    # the decorator @max_length(city=10)
LENGTH = "Length"         # the annotation city: Length(10)
MOST_TOKENS = 1 << 20     # most tokens of a parameter; more is taken for a typing error
MOST_LEVELS = 100         # most levels of nested modules
MOST_MODULES = 10000      # most modules: functions that call each other twice multiply
# PML's own elements. A prompt imports a module by an element of its name, so a module with one of these names is
# hidden.
ROLES = ("system", "user", "assistant")    # the turns of a chat: with user:
ELEMENTS = {"schema", "prompt", "module", "union", "param", "parameter", "scaffold", "system", "user", "assistant"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
STATEMENTS = f"strings, f-strings, if, match, with, pass and calls of @{DECORATOR} functions"


class ProgramError(Exception):
    """An error at one place of the program."""

    def __init__(self, node, message):
        super().__init__(message)
        self.node = node


# The schema is a tree whose text nodes are strings.

LINE = object()    # marks where a string statement begins; a line break goes between adjacent ones

@dataclasses.dataclass
class Param:
    name: str
    length: int


@dataclasses.dataclass
class Module:
    """A module and what decides whether a prompt imports it: a condition, a pattern, or a call, which always does.
    Without any it is what remains of a union."""
    name: str
    body: list
    test: ast.expr = None
    pattern: ast.pattern = None
    call: tuple = None    # the ast.Call and the Function


@dataclasses.dataclass
class Union:
    members: list
    subject: ast.expr = None    # the subject of a match statement


@dataclasses.dataclass
class Turn:
    role: str
    body: list
    is_open: bool = False    # the prompt closes it


@dataclasses.dataclass
class OwnText:
    """The text that each prompt brings itself, a parameter of the schema's function."""
    node: ast.Name
    is_line: bool = False    # a line of the text before it


@dataclasses.dataclass
class Function:
    """A decorated function and the possible contents of its parameters."""
    node: ast.FunctionDef
    parameters: list    # names, in the order of the signature
    required: set       # names of the parameters without a default
    lengths: dict       # name -> tokens, for parameters that text uses


def unparsed(node):
    """Returns the source of an expression, short enough for a message."""
    text = ast.unparse(node).replace("\n", " ")
    return text if len(text) <= 40 else text[:37] + "..."


def nearest(name, known):
    """Returns ', did you mean ...?' if one of `known` is near, otherwise ""."""
    found = difflib.get_close_matches(name, known, 1)
    return f', did you mean "{found[0]}"?' if found else ""


# Signatures

def decorator_name(node):
    """Returns "prompt" for prompt, module.prompt and prompt(...)."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_prompt(node):
    return any(decorator_name(decorator) == DECORATOR for decorator in node.decorator_list)


def check_decorators(node):
    for decorator in node.decorator_list:
        name = decorator_name(decorator)
        if name not in (DECORATOR, LENGTHS):
            raise ProgramError(decorator, f"@{unparsed(decorator)} means nothing in a prompt program"
                                          f"{nearest(name, [DECORATOR, LENGTHS]) or '; take it off'}")
        if name == DECORATOR and isinstance(decorator, ast.Call):
            raise ProgramError(decorator, f"@{DECORATOR} takes no arguments; the function's name is the module's")


def tokens_of(node, name):
    """Returns a length as written in the program."""
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is not int or not 1 <= value <= MOST_TOKENS:
        raise ProgramError(node, f'the length of "{name}" must be a whole number of tokens from 1 to {MOST_TOKENS}, '
                                 f"found {unparsed(node)}")
    return value


def lengths_by_decorator(node, names):
    lengths = {}
    for decorator in node.decorator_list:
        if decorator_name(decorator) != LENGTHS:
            continue
        if (not isinstance(decorator, ast.Call) or decorator.args or not decorator.keywords
                or any(keyword.arg is None for keyword in decorator.keywords)):
            raise ProgramError(decorator, f"@{LENGTHS} takes a length for each name: @{LENGTHS}(city=10)")
        for keyword in decorator.keywords:
            if keyword.arg not in names:
                raise ProgramError(keyword, f'@{LENGTHS}: {node.name}() has no parameter "{keyword.arg}"'
                                            f"{nearest(keyword.arg, names)}")
            if keyword.arg in lengths:
                raise ProgramError(keyword, f'"{keyword.arg}" has two lengths; leave one out')
            lengths[keyword.arg] = tokens_of(keyword.value, keyword.arg)
    return lengths


def length_by_annotation(argument):
    """Returns the number in `city: Length(10)`, None for other annotations."""
    note = argument.annotation
    if not isinstance(note, ast.Call) or decorator_name(note) != LENGTH:
        return None
    if len(note.args) != 1 or note.keywords:
        raise ProgramError(note, f"{LENGTH} takes one number of tokens: {argument.arg}: {LENGTH}(10)")
    return tokens_of(note.args[0], argument.arg)


def function_of(node):
    """Reads a signature."""
    check_decorators(node)
    arguments = node.args
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            raise ProgramError(star, f'{node.name}() takes any number of arguments ("*{star.arg}"); name each of them, '
                                     "since each parameter of a module has a name")
    plain = arguments.posonlyargs + arguments.args
    named = plain + arguments.kwonlyargs
    lengths = lengths_by_decorator(node, [argument.arg for argument in named])
    for argument in named:
        length = length_by_annotation(argument)
        if length is not None and argument.arg in lengths:
            raise ProgramError(argument, f'"{argument.arg}" has two lengths; leave one out')
        if length is not None:
            lengths[argument.arg] = length
    shown = names_in_text(node)
    for name in lengths:
        require_name(node, name, f'the parameter "{name}"')
        if name not in shown:
            raise ProgramError(node, f'"{name}" has a length, but no f-string of {node.name}() holds {{{name}}}; '
                                     "use it or take the length off")
    without_default = plain[:len(plain) - len(arguments.defaults)] + [
        argument for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default is None]
    return Function(node, [argument.arg for argument in named], {argument.arg for argument in without_default}, lengths)


def names_in_text(node):
    return {part.value.id for part in ast.walk(node)
            if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name)}


def require_name(node, name, what):
    if not NAME.match(name):
        raise ProgramError(node, f"{what} is no name in PML; use a letter or _, then letters, digits, _, - and . "
                                 "of ASCII")


# Names of modules

def slug(text):
    """Returns the letters and digits of a text with - between them, as a part of a name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")[:60].strip("-.")


def condition_name(test):
    """Returns a module's name for a condition: `formal`, `not-formal`, `grade-ninth`, `user-is_new`; "" for others."""
    if isinstance(test, ast.Name):
        return slug(test.id)
    if isinstance(test, ast.Attribute):
        return slug(ast.unparse(test).replace(".", "-"))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        name = condition_name(test.operand)
        return name and "not-" + name
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [condition_name(test.left), value_name(test.comparators[0])]
        if all(sides) and isinstance(test.ops[0], (ast.Eq, ast.Is)):
            return "-".join(sides)
        if all(sides) and isinstance(test.ops[0], (ast.NotEq, ast.IsNot)):
            return "not-" + "-".join(sides)
    return ""


def value_name(node):
    """Returns a name for the value in a comparison: its text, or the last part of a dotted name. Returns "" for a value
    that suggests none, and None for another expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return slug(str(node.value))
    if isinstance(node, ast.Attribute):
        return slug(node.attr)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "minus-" + (value_name(node.operand) or "")
    return condition_name(node) if isinstance(node, ast.Name) else None
