#!/usr/bin/env python3
"""python_to_pml.py FILE: turns a prompt program into a PML schema, and a call of it into a prompt [Prompt Cache 3.2.4].

The program is read, never run. README.md beside this file tells what becomes of each statement. Errors go to standard
error, one a line, as FILE:LINE:COLUMN: and what to do about it; the status is then 1.
"""
import argparse
import ast
import os
import sys
import warnings

from pml_writer import cut_tail, written_body
from prompt_call import call_of, prompt_of
from prompt_program import DECORATOR, ProgramError, function_of, is_prompt, nearest, require_name
from schema_builder import Builder


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


def place(path, source, call, node):
    """Returns FILE:LINE:COLUMN, or --call:LINE:COLUMN for a node of the call; columns count characters from 1."""
    where, text = ("--call", call.strip().encode("utf-8")) if getattr(node, "is_of_call", False) else (path, source)
    line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    lines = text.splitlines()
    before = lines[line - 1][:offset] if line <= len(lines) else b""
    return f"{where}:{line}:{len(before.decode('utf-8', 'replace')) + 1}"


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
        told = {f"{place(path, source, call, problem.node)}: {problem}": problem for problem in problems}
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
