"""Makes the prompt of a program's call: evaluates its conditions and texts without running the program."""
import ast
import dataclasses
import operator

from pml_writer import checked_text, escaped, takes_space, written_tail
from prompt_program import Module, Param, ProgramError, Turn, Union, nearest, unparsed
from schema_builder import check_arguments


@dataclasses.dataclass
class Later:
    """An argument as its call has it, with the values of the names in it. It is computed where it is needed."""
    node: ast.expr
    values: dict


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A dotted name such as Stay.LONG, equal to itself."""
    text: str


def is_same(a, b):
    """What `is` says of literals: 1 is not True, though they are equal."""
    return type(a) is type(b) and a == b


COMPARISONS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: is_same, ast.IsNot: lambda a, b: not is_same(a, b),
               ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
               ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
COLLECTIONS = {ast.Tuple: tuple, ast.List: list, ast.Set: set}


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
        if type(node) in COLLECTIONS:
            return COLLECTIONS[type(node)](value_of(part, values) for part in node.elts)
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
            chosen = next((member for member in node.members if is_chosen(member, node.subject, values)), None)
            if chosen is not None:    # as in Python, later conditions are not evaluated
                found.append(reference(chosen, values))
    return "".join(found)


def reference(module, values):
    if module.call is not None:
        values = arguments_of(*module.call, values)
    given = "".join(f' {name}="{attribute(text)}"' for name, text in texts_of(module.body, values) if text)
    nested = references(module.body, values)
    return f"<{module.name}{given}>{nested}</{module.name}>" if nested else f"<{module.name}{given}/>"


def texts_of(body, values):
    """Returns the parameters of a module with their texts. PML puts the space in front of a parameter into its argument,
    unless that is empty or begins with a space; such an argument gets the space here."""
    before = None
    for node in body:
        if isinstance(node, Turn):
            yield from texts_of(node.body, values)
        elif isinstance(node, Param):
            text = text_of(values[node.name], node.name)
            yield node.name, " " + text if takes_space(before) and (not text or text[0] == " ") else text
        before = node


def text_of(later, name):
    while isinstance(later.node, ast.Name) and later.node.id in later.values:
        later = later.values[later.node.id]    # where it was given
    value = value_of(later.node, later.values)
    if not isinstance(value, (str, int, float)):
        raise ProgramError(later.node, f'"{name}" is text in the prompt, and {unparsed(later.node)} is none; give a string '
                                       "or a number")
    try:
        return checked_text(later.node, str(value))
    except ValueError:    # from str()
        raise ProgramError(later.node, f'"{name}" is a number with too many digits; give it as a string') from None


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
    if not text and '="' not in imported.replace('=" "', ""):    # where arguments are empty, there is only that space
        raise ProgramError(call, "the prompt has no text of its own, which a model needs in order to answer: "
                           + (f'"{tail.text.node.id}" is empty' if tail.text is not None else
                              f"end {function.node.name}() with a parameter as its last statement, such as question, and "
                              "give it here"))
    return f'<prompt schema="{function.node.name}">{imported}{written_tail(tail, text)}</prompt>\n'
