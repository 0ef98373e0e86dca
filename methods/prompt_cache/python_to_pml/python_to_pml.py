#!/usr/bin/env python3
"""python_to_pml.py FILE: turns a prompt program into a PML schema, and a call of it into a prompt [Prompt Cache 3.2.4].

The program is read, never run. README.md beside this file tells what becomes of each statement. Errors go to standard
error, one a line, as FILE:LINE:COLUMN: and what to do about it; the status is then 1.
"""
import argparse
import ast
import dataclasses
import difflib
import operator
import os
import re
import sys
import warnings

DECORATOR = "prompt"
LENGTHS = "max_length"    # the decorator @max_length(city=10)
LENGTH = "Length"         # the annotation city: Length(10)
MOST_TOKENS = 1 << 20     # of one parameter: more is a slip of the finger
MOST_LEVELS = 100         # of modules within modules
MOST_MODULES = 10000      # functions that call one another twice multiply
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
    subject: ast.expr = None    # of match


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
    required: set       # of them, those without a default
    lengths: dict       # of those that text uses: name -> tokens


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
    """Returns a name for the value in a comparison: its text, or the last part of a dotted name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return slug(str(node.value))
    if isinstance(node, ast.Attribute):
        return slug(node.attr)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "minus-" + value_name(node.operand)
    return condition_name(node) if isinstance(node, ast.Name) else ""


class Scope:
    """The names within one parent, which must differ in PML, including those of a union's members."""

    def __init__(self):
        self.taken = set()

    def name(self, wanted, fallback):
        """Returns `wanted` or else `fallback`; the second use of a name gets the suffix -2."""
        base = wanted or fallback
        if not NAME.match(base) or base in ELEMENTS:
            base = f"{fallback}-{base}"
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}-{number}"
        self.taken.add(name)
        return name


# Statements

class Builder:
    """Turns functions into trees. A fault is added to `problems`, and the tree then lacks that part."""

    def __init__(self, functions, others):
        self.functions = functions
        self.others = others    # names of functions that are not decorated
        self.problems = []
        self.calls = []         # names of the functions under way
        self.role = None        # of the turn that is open
        self.levels = 0         # of modules that are open
        self.modules = 0        # so far

    def schema(self, name):
        return self.function_body(self.functions[name], is_root=True)

    def function_body(self, function, is_root):
        self.calls.append(function.node.name)
        body = self.body(function.node.body, function, None if is_root else set())
        self.calls.pop()
        return body

    def body(self, statements, function, used, scope=None):
        """Returns the children of one parent. `used` has its parameters so far; None if it can have none. A turn has the
        scope of the parent around it."""
        scope, children = scope or Scope(), []
        for statement in statements:
            try:
                self.statement(statement, function, used, scope, children)
            except ProgramError as error:
                self.problems.append(error)
        return joined(children)

    def statement(self, node, function, used, scope, children):
        if isinstance(node, ast.Pass):
            return
        if isinstance(node, ast.If):
            children.append(self.branches(node, function, scope))
        elif isinstance(node, ast.Match):
            children.append(self.cases(node, function, scope))
        elif isinstance(node, ast.With):
            children.append(self.turn(node, function, used, scope))
        elif isinstance(node, ast.Expr):
            children.extend(self.expression(node.value, function, used, scope))
        else:
            raise ProgramError(node, f"a prompt program consists of {STATEMENTS}; move this "
                                     f"{statement_name(node)} out of {function.node.name}()")

    def expression(self, node, function, used, scope):
        if isinstance(node, ast.Constant) and node.value is ...:
            return []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [LINE, checked_text(node, node.value)]
        if isinstance(node, ast.JoinedStr):
            return [LINE, *self.parts(node, function, used)]
        if isinstance(node, ast.Call):
            return [self.call(node, function, scope)]
        if isinstance(node, ast.Name) and node.id in function.parameters and used is None:
            if node.id in function.lengths:
                raise ProgramError(node, f'"{node.id}" has a length, as parameters of a module have; take it off, since '
                                         "the prompt's own text may be of any")
            return [LINE, OwnText(node)]
        raise ProgramError(node, f"{unparsed(node)} is no text; a prompt program consists of {STATEMENTS}. Text with a "
                                 "parameter in it is an f-string, and a parameter alone is the prompt's own text, the last "
                                 "statement of the schema's function")

    def parts(self, node, function, used):
        """Returns the text and parameters of an f-string. Some versions of Python do not tell places inside one."""
        found = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                found.append(checked_text(node, part.value))
            else:
                found.append(self.parameter(part, node, function, used))
        return found

    def parameter(self, part, node, function, used):
        shown = "{" + unparsed(part.value) + "}"
        if not isinstance(part.value, ast.Name):
            raise ProgramError(node, f"{shown} is computed; an f-string takes parameters of {function.node.name}() "
                                     "alone, since their text is known only when a prompt is made")
        if part.conversion != -1 or part.format_spec is not None:
            raise ProgramError(node, f"{shown} has a conversion or a format; a parameter's text is taken as it is")
        name = part.value.id
        if name not in function.parameters:
            raise ProgramError(node, f"{shown}: {function.node.name}() has no parameter of that name"
                                     f"{nearest(name, function.parameters)}")
        if name not in function.lengths:
            raise ProgramError(node, f'"{name}" has no length; say how many tokens it may have with '
                                     f"@{LENGTHS}({name}=10) or {name}: {LENGTH}(10)")
        if used is None:
            raise ProgramError(node, f"{shown} stands in no module, and only modules have parameters; move the text "
                                     f"into a @{DECORATOR} function that {function.node.name}() calls")
        if name in used:
            raise ProgramError(node, f"{shown} occurs twice in one module; give the second a name of its own")
        used.add(name)
        return Param(name, function.lengths[name])

    def branches(self, node, function, scope):
        """Turns `if` into a module, and `if` with `elif` or `else` into a union."""
        members = []
        while True:
            wanted = condition_name(node.test)
            members.append(self.module(node.body, function, scope.name(wanted, "when")))
            members[-1].test = node.test
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            node = node.orelse[0]
        if node.orelse:
            wanted = "not-" + wanted if wanted and len(members) == 1 else "otherwise"
            members.append(self.module(node.orelse, function, scope.name(wanted, "otherwise")))
        return members[0] if len(members) == 1 else Union(members)

    def cases(self, node, function, scope):
        """Turns `match` into a union with a member for each case."""
        subject = condition_name(node.subject) or "case"
        members = []
        for case in node.cases:
            if case.guard is not None:
                raise ProgramError(case.guard, "a case with a condition of its own cannot be chosen by its value; "
                                               "write an if in its body")
            name = scope.name(pattern_name(case.pattern, case is node.cases[-1]), subject)
            members.append(self.module(case.body, function, name))
            members[-1].pattern = case.pattern
        return Union(members, node.subject)

    def turn(self, node, function, used, scope):
        """Turns `with user:` into a turn of the chat."""
        item = node.items[0]
        role = item.context_expr.id if isinstance(item.context_expr, ast.Name) else ""
        if len(node.items) != 1 or role not in ROLES or item.optional_vars is not None:
            raise ProgramError(node, f"with means a turn of the chat: with {', with '.join(ROLES[:-1])} or with {ROLES[-1]}"
                                     f"{nearest(role, ROLES)}")
        if self.role is not None:
            raise ProgramError(node, f"the turn {role} begins inside the turn {self.role}; turns follow each other, put it "
                                     "behind")
        self.role = role
        body = self.body(node.body, function, used, scope)
        self.role = None
        return Turn(role, body)

    def module(self, statements, function, name):
        self.open(statements[0])
        body = self.body(statements, function, set())
        self.levels -= 1
        return Module(name, body)

    def open(self, node):
        """Counts one more open module, which `levels` closes."""
        if self.levels == MOST_LEVELS:
            raise ProgramError(node, f"modules are nested deeper than {MOST_LEVELS} levels")
        if self.modules == MOST_MODULES:
            raise ProgramError(node, f"the schema has more than {MOST_MODULES} modules; call fewer functions")
        self.levels += 1
        self.modules += 1

    def call(self, node, function, scope):
        name = decorator_name(node)
        if not isinstance(node.func, ast.Name) or name not in self.functions:
            if name in self.others and isinstance(node.func, ast.Name):
                raise ProgramError(node, f"{name}() is called for a module, but is no @{DECORATOR} function; "
                                         "decorate it")
            raise ProgramError(node, f"{unparsed(node.func)}() is no @{DECORATOR} function of this file"
                                     f"{nearest(name, list(self.functions))}")
        if name in self.calls:
            raise ProgramError(node, "calls go round in a circle, and a schema has an end: "
                                     + " -> ".join(self.calls[self.calls.index(name):] + [name]))
        called = self.functions[name]
        check_arguments(node, called)
        self.open(node)
        body = self.function_body(called, is_root=False)
        self.levels -= 1
        return Module(scope.name(name, "call"), body, call=(node, called))


def statement_name(node):
    """Returns a reader's name of a statement: "for loop", "assignment"."""
    names = {ast.For: "for loop", ast.While: "while loop", ast.With: "with block", ast.Try: "try block",
             ast.Assign: "assignment", ast.AugAssign: "assignment", ast.AnnAssign: "assignment",
             ast.Import: "import", ast.ImportFrom: "import", ast.FunctionDef: "function",
             ast.ClassDef: "class", ast.Return: "return", ast.Raise: "raise", ast.Assert: "assertion"}
    return names.get(type(node), "statement")


def check_arguments(node, called):
    """Checks that a call fits the signature; the arguments' values come from the prompt."""
    name = called.node.name
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise ProgramError(node, f"{name}(...) is called with * or **; name each argument")
    positional = len(called.node.args.posonlyargs) + len(called.node.args.args)
    if len(node.args) > positional:
        raise ProgramError(node, f"{name}() takes {positional} arguments by position, and is given {len(node.args)}")
    given = called.parameters[:len(node.args)]
    for keyword in node.keywords:
        if keyword.arg not in called.parameters:
            raise ProgramError(keyword, f'{name}() has no parameter "{keyword.arg}"'
                                        f"{nearest(keyword.arg, called.parameters)}")
        if keyword.arg in given:
            raise ProgramError(keyword, f'{name}() is given "{keyword.arg}" twice')
        given.append(keyword.arg)
    missing = [parameter for parameter in called.parameters if parameter in called.required and parameter not in given]
    if missing:
        raise ProgramError(node, f'{name}() is not given "{missing[0]}"')


def pattern_name(pattern, is_last):
    """Returns the name of a case by the value that selects it."""
    if isinstance(pattern, ast.MatchValue) and value_name(pattern.value):
        return value_name(pattern.value)
    if isinstance(pattern, ast.MatchSingleton):
        return str(pattern.value)
    if isinstance(pattern, ast.MatchOr):
        return "-or-".join(pattern_name(one, False) for one in pattern.patterns)
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None and is_last:
        return "otherwise"
    raise ProgramError(pattern, "a case is chosen by a value: a text, a number, a dotted name, several with |, or _ as "
                                "the last one")


# Text

LINE = object()    # where a string statement begins: a line break goes between two that are neighbours


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
    turn: Turn = None    # without a body if all of the turn is the prompt's


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

@dataclasses.dataclass
class Later:
    """An argument as its call has it, with the values of the names in it. It is computed where it is needed."""
    node: ast.expr
    values: dict


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A dotted name such as Stay.LONG, equal to itself."""
    text: str


COMPARISONS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.eq, ast.IsNot: operator.ne,
               ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
               ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}


def value_of(node, values):
    """Returns the value of an expression of literals and parameters. `values` has the parameters' arguments."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in values:
        return value_of(values[node.id].node, values[node.id].values)
    if isinstance(node, ast.Attribute) and not any(part.id in values for part in ast.walk(node) if isinstance(part, ast.Name)):
        return Symbol(ast.unparse(node))
    try:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not value_of(node.operand, values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value_of(node.operand, values)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return [value_of(part, values) for part in node.elts]
        if isinstance(node, ast.BoolOp):
            return bool_value(node, values)
        if isinstance(node, ast.Compare) and all(type(op) in COMPARISONS for op in node.ops):
            sides = [value_of(side, values) for side in (node.left, *node.comparators)]
            return all(COMPARISONS[type(op)](*pair) for op, pair in zip(node.ops, zip(sides, sides[1:])))
    except TypeError as error:
        raise ProgramError(node, f"{unparsed(node)} has no value for this call: {error}") from None
    raise ProgramError(node, f"{unparsed(node)} is known only when the program runs, and it is never run; make it a "
                             "parameter of its function and give its value in the call")


def bool_value(node, values):
    is_and, value = isinstance(node.op, ast.And), None
    for part in node.values:
        value = value_of(part, values)
        if bool(value) != is_and:
            break
    return value


def arguments_of(node, called, values):
    """Returns the arguments of a call by the called function's parameters, with its defaults."""
    arguments = called.node.args
    plain = arguments.posonlyargs + arguments.args
    defaults = list(zip(reversed(plain), reversed(arguments.defaults)))
    defaults += [pair for pair in zip(arguments.kwonlyargs, arguments.kw_defaults) if pair[1] is not None]
    found = {argument.arg: Later(default, {}) for argument, default in defaults}
    found.update({argument.arg: Later(given, values) for argument, given in zip(plain, node.args)})
    found.update({keyword.arg: Later(keyword.value, values) for keyword in node.keywords})
    return found


def is_chosen(member, subject, values):
    if member.test is not None:
        return bool(value_of(member.test, values))
    return member.pattern is None or matches(member.pattern, value_of(subject, values))


def matches(pattern, value):
    """Tells whether a case's pattern, which pattern_name() has accepted, takes the value."""
    if isinstance(pattern, ast.MatchOr):
        return any(matches(one, value) for one in pattern.patterns)
    if isinstance(pattern, ast.MatchAs):
        return True
    if isinstance(pattern, ast.MatchSingleton):
        return value is pattern.value
    return value == value_of(pattern.value, {})


def references(body, values):
    """Returns the PML of the modules of a body that a call with these arguments imports."""
    found = []
    for node in body:
        if isinstance(node, Turn):
            found.append(references(node.body, values))
        elif isinstance(node, Module) and (node.call is not None or is_chosen(node, None, values)):
            found.append(reference(node, values))
        elif isinstance(node, Union):
            chosen = [member for member in node.members if is_chosen(member, node.subject, values)][:1]
            found += [reference(member, values) for member in chosen]
    return "".join(found)


def reference(module, values):
    if module.call is not None:
        values = arguments_of(*module.call, values)
    given = "".join(f' {name}="{attribute(text)}"' for name, text in texts_of(module.body, values) if text)
    nested = references(module.body, values)
    return f"<{module.name}{given}>{nested}</{module.name}>" if nested else f"<{module.name}{given}/>"


def texts_of(body, values):
    """Returns the parameters of a module with their texts."""
    for node in body:
        if isinstance(node, Turn):
            yield from texts_of(node.body, values)
        elif isinstance(node, Param):
            yield node.name, text_of(values[node.name], node.name)


def text_of(later, name):
    while isinstance(later.node, ast.Name) and later.node.id in later.values:
        later = later.values[later.node.id]    # where it was given
    value = value_of(later.node, later.values)
    if not isinstance(value, (str, int, float)):
        raise ProgramError(later.node, f'"{name}" is text in the prompt, and {unparsed(later.node)} is none; give a string '
                                       "or a number")
    return checked_text(later.node, str(value))


def attribute(text):
    text = escaped(text)
    for character, entity in (('"', "&quot;"), ("\n", "&#10;"), ("\t", "&#9;")):
        text = text.replace(character, entity)
    return text


def call_of(text, name, functions):
    """Reads the text of a call of the schema's function, which has that name."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SystemExit(f'--call: "{text}" is no expression of Python: {getattr(error, "msg", error)}. Write a call such as '
                         f'{name}("a text", kind="sea")') from None
    for part in ast.walk(node):
        part.is_of_call = True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ProgramError(node, f"{unparsed(node)} is no call of the schema's function, {name}(...)")
    if node.func.id != name:
        remedy = f"; choose it with --function {node.func.id}" if node.func.id in functions else ""
        raise ProgramError(node, f"{node.func.id}() is not the schema's function {name}(){remedy or nearest(node.func.id, [name])}")
    return node


def prompt_of(call, function, body, tail):
    """Returns the PML of the prompt that a call of the schema's function makes."""
    check_arguments(call, function)
    values = arguments_of(call, function, {})
    imported = references(body, values)
    text = "" if tail.text is None else text_of(values[tail.text.node.id], tail.text.node.id)
    if not text and '="' not in imported:
        raise ProgramError(call, "the prompt has no text of its own, which a model needs in order to answer: "
                           + (f'"{tail.text.node.id}" is empty' if tail.text is not None else
                              f"end {function.node.name}() with a parameter as its last statement, such as question, and "
                              "give it here"))
    return f'<prompt schema="{function.node.name}">{imported}{written_tail(tail, text)}</prompt>\n'


# Files

def collect(tree):
    """Returns the decorated functions of a file by name, the names of the others, and the faults in signatures."""
    functions, others, problems = {}, set(), []
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if not is_prompt(node):
            others.add(node.name)
            continue
        try:
            require_name(node, node.name, f'the function name "{node.name}"')
            if isinstance(node, ast.AsyncFunctionDef):
                raise ProgramError(node, f"{node.name}() is asynchronous; a prompt program is a plain def")
            if node.name in functions:
                raise ProgramError(node, f"{node.name}() is defined twice; rename one")
            functions[node.name] = function_of(node)
        except ProgramError as error:
            problems.append(error)
    return functions, others, problems


def called_names(function):
    return {node.func.id for node in ast.walk(function.node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def root_of(functions, wanted, where):
    """Returns the function that becomes the schema."""
    if wanted is not None:
        if wanted not in functions:
            raise SystemExit(f"{where}: has no @{DECORATOR} function {wanted}(){nearest(wanted, list(functions))}")
        return wanted
    called = set().union(*(called_names(function) for function in functions.values()))
    roots = [name for name in functions if name not in called]
    if len(roots) != 1:
        listed = ", ".join(roots or functions)
        raise SystemExit(f"{where}: {len(roots)} functions are called by no other; choose one with --function: "
                         f"{listed}")
    return roots[0]


def place(where, lines, node):
    """Returns FILE:LINE:COLUMN; columns count characters from 1."""
    if getattr(node, "is_of_call", False):
        return f"--call:{node.lineno}:{node.col_offset + 1}"
    line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    text = lines[line - 1] if line <= len(lines) else b""
    return f"{where}:{line}:{len(text[:offset].decode('utf-8', 'replace')) + 1}"


def source_of(path):
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise SystemExit(f"{path}: cannot be read: {error.strerror}") from None
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source[:error.start].count(b"\n") + 1
        raise SystemExit(f"{path}:{line}: is not valid UTF-8; save it as UTF-8") from None
    return source.removeprefix(b"\xef\xbb\xbf")


def tree_of(source, path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes that a later Python will refuse
            return ast.parse(source, path)
    except SyntaxError as error:
        raise SystemExit(f"{path}:{error.lineno or 1}:{max(error.offset or 1, 1)}: is no Python: {error.msg}") from None
    except ValueError as error:    # a NUL byte
        raise SystemExit(f"{path}:1:1: is no Python: {error}") from None
    except (RecursionError, MemoryError):
        raise SystemExit(f"{path}:1:1: is nested too deeply to be read") from None


def compiled(source, path, wanted=None, call=None):
    """Returns the schema's text, or the prompt's for a call. Raises SystemExit with all faults of the program."""
    functions, others, problems = collect(tree_of(source, path))
    if not functions and not problems:
        raise SystemExit(f"{path}: has no function decorated with @{DECORATOR}; decorate those that make up the prompt")
    text = ""
    if not problems:
        name = root_of(functions, wanted, path)
        builder = Builder(functions, others)
        body = builder.schema(name)
        problems = builder.problems
        try:
            tail = cut_tail(body)
            text = f'<schema name="{name}">' + written_body(body) + "</schema>\n"
            if call is not None and not problems:
                text = prompt_of(call_of(call, name, functions), functions[name], body, tail)
        except ProgramError as error:
            problems.append(error)
    if problems:
        lines = source.splitlines()
        told = {f"{place(path, lines, problem.node)}: {problem}": problem for problem in problems}
        raise SystemExit("\n".join(told))
    return text


def main():
    parser = argparse.ArgumentParser(description="Turn a prompt program in Python into a PML schema, or a call of it into "
                                                 "a prompt.")
    parser.add_argument("file", help="the program; it is read, never run")
    parser.add_argument("--function", help="the function that becomes the schema, where several are called by no other")
    parser.add_argument("--call", help="write the prompt of this call of that function, and not the schema: "
                                       "'travel(\"5 days\", place=\"sea\")'")
    parser.add_argument("--out", help="write it here, and not to standard output")
    options = parser.parse_args()
    source = source_of(options.file)
    try:
        text = compiled(source, options.file, options.function, options.call)
    except RecursionError:    # an expression that Python itself could just read
        raise SystemExit(f"{options.file}:1:1: is nested too deeply to be read") from None
    if options.out is None:
        sys.stdout.buffer.write(text.encode("utf-8"))
        return
    beside = f"{options.out}.{os.getpid()}.tmp"
    try:
        with open(beside, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
        os.replace(beside, options.out)
    except OSError as error:
        raise SystemExit(f"{options.out}: cannot be written: {error.strerror}") from None


if __name__ == "__main__":
    main()
