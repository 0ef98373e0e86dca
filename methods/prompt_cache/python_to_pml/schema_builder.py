"""Builds the schema's tree from the functions of a prompt program."""
import ast

from pml_writer import checked_text, joined
from prompt_program import (DECORATOR, ELEMENTS, LENGTH, LENGTHS, LINE, MOST_LEVELS, MOST_MODULES, Module, NAME, OwnText,
                            Param, ProgramError, ROLES, STATEMENTS, Turn, Union, condition_name, decorator_name, nearest,
                            unparsed, value_name)


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
        self.calls = []         # names of the functions being read
        self.role = None        # role of the open turn; None: no turn
        self.levels = 0         # number of open modules
        self.modules = 0        # number of modules so far

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
        return found or [""]

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
            try:
                wanted = case_name(case, case is node.cases[-1])
            except ProgramError as error:
                self.problems.append(error)
                wanted = ""
            members.append(self.module(case.body, function, scope.name(wanted, subject)))
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
        self.role, problems = role, len(self.problems)
        body = self.body(node.body, function, used, scope)
        self.role = None
        if not body and len(self.problems) == problems:
            raise ProgramError(node, f"the turn {role} holds nothing, which PML refuses; give it text, or leave it out")
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
    by_place = [argument.arg for argument in called.node.args.posonlyargs]
    for keyword in node.keywords:
        if keyword.arg in by_place:
            raise ProgramError(keyword, f'{name}() takes "{keyword.arg}" by position only; give it without its name')
        if keyword.arg not in called.parameters:
            raise ProgramError(keyword, f'{name}() has no parameter "{keyword.arg}"'
                                        f"{nearest(keyword.arg, called.parameters)}")
        if keyword.arg in given:
            raise ProgramError(keyword, f'{name}() is given "{keyword.arg}" twice')
        given.append(keyword.arg)
    missing = [parameter for parameter in called.parameters if parameter in called.required and parameter not in given]
    if missing:
        raise ProgramError(node, f'{name}() is not given "{missing[0]}"')


def case_name(case, is_last):
    """Returns the name of a case by the value that selects it, or "" if the value suggests none."""
    if case.guard is not None:
        raise ProgramError(case.guard, "a case with a condition of its own cannot be chosen by its value; write an if in "
                                       "its body")
    return pattern_name(case.pattern, is_last)


def pattern_name(pattern, is_last):
    if isinstance(pattern, ast.MatchValue) and value_name(pattern.value) is not None:
        return value_name(pattern.value)
    if isinstance(pattern, ast.MatchSingleton):
        return str(pattern.value)
    if isinstance(pattern, ast.MatchOr):
        return "-or-".join(filter(None, [pattern_name(one, False) for one in pattern.patterns]))
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None and is_last:
        return "otherwise"
    raise ProgramError(pattern, "a case is chosen by a value: a text, a number, a dotted name, several with |, or _ as "
                                "the last one")
