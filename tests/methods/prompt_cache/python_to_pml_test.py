"""python_to_pml_test.py TOOL: tests prompt programs and the exact PML that they become."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

TOOL = os.path.abspath(sys.argv.pop(1))


class PythonToPml(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "program.py")

    def run_tool(self, source, *options):
        with open(self.path, "wb") as out:
            out.write(source if isinstance(source, bytes) else source.encode("utf-8"))
        return subprocess.run([sys.executable, TOOL, self.path, *options], capture_output=True, check=False)

    def pml(self, source, *options):
        done = self.run_tool(source, *options)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        text = done.stdout.decode("utf-8")
        self.assertTrue(text.endswith("</schema>\n"))
        ElementTree.fromstring(text)  # is well-formed
        return text[:-1]

    def becomes(self, source, expected):
        self.assertEqual(self.pml(source), expected)

    def refused(self, source, *expected, options=()):
        """Expects a refusal, a line for each (LINE:COLUMN:, text) of `expected`: it begins with the place and has the text."""
        done = self.run_tool(source, *options)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        lines = done.stderr.decode("utf-8").splitlines()
        self.assertEqual(len(lines), len(expected), lines)
        for line, (place, part) in zip(lines, expected):
            self.assertTrue(line.startswith(f"{self.path}:{place}"), line)
            self.assertIn(part, line)

    # The PML of each statement

    def test_strings_are_text(self):
        self.becomes('@prompt\ndef hello():\n    "Be brief."\n', '<schema name="hello">Be brief.</schema>')

    def test_neighbouring_strings_are_lines(self):
        self.becomes('@prompt\ndef a():\n    "one"\n    "two " "and"\n    pass\n    ...\n    "three"\n',
                     '<schema name="a">one\ntwo and\nthree</schema>')

    def test_an_empty_f_string_is_an_empty_line(self):
        for empty in ('""', 'f""'):
            self.assertEqual(self.pml(f"@prompt\ndef a():\n    'a'\n    {empty}\n    'b'\n"), '<schema name="a">a\n\nb</schema>')

    def test_text_is_escaped_and_otherwise_as_it_is(self):
        source = '@prompt\ndef a():\n    """ <b> & "c" \'d\'\n  \\r\\t]]> \u6bb5 """\n'
        self.becomes(source, '<schema name="a"><![CDATA[ ]]>&lt;b&gt; &amp; "c" \'d\'\n  &#13;\t]]&gt; \u6bb5<![CDATA[ ]]></schema>')
        self.assertEqual(ElementTree.fromstring(self.pml(source)).text, ' <b> & "c" \'d\'\n  \r\t]]> \u6bb5 ')

    def test_white_space_at_the_ends_is_kept(self):
        """White space at the ends of texts needs CDATA, because PML drops it elsewhere. pml_layout_test reads this schema."""
        source = ('@prompt\ndef a(b):\n    "  x \\n"\n    if b:\n        " y  "\n    "\\n"\n    c(3)\n    "\\r\\nz"\n'
                  '@prompt\n@max_length(d=3)\ndef c(d):\n    f"  p {d}\\tq\\n"\n')
        self.becomes(source, '<schema name="a"><![CDATA[  ]]>x<![CDATA[ \n]]><module name="b"><![CDATA[ ]]>y<![CDATA[  ]]>'
                     '</module><![CDATA[\n]]><module name="c"><![CDATA[  ]]>p <param name="d" len="3"/>'
                     '<![CDATA[\t]]>q<![CDATA[\n]]></module><![CDATA[]]>&#13;<![CDATA[\n]]>z</schema>')

    def test_if_is_a_module(self):
        self.becomes('@prompt\ndef a(formal):\n    "x"\n    if formal:\n        "Sir"\n    "y"\n',
                     '<schema name="a">x<module name="formal">Sir</module>y</schema>')

    def test_if_else_is_a_union(self):
        self.becomes('@prompt\ndef a(formal):\n    if formal:\n        "Sir"\n    else:\n        "Hi"\n',
                     '<schema name="a"><union><module name="formal">Sir</module>'
                     '<module name="not-formal">Hi</module></union></schema>')

    def test_elif_is_a_union_with_or_without_else(self):
        program = ('@prompt\ndef a(grade):\n    if grade == "ninth grade":\n        "9"\n'
                   '    elif grade == 10:\n        "10"\n')
        members = '<module name="grade-ninth-grade">9</module><module name="grade-10">10</module>'
        self.becomes(program, f'<schema name="a"><union>{members}</union></schema>')
        self.becomes(program + '    else:\n        pass\n',
                     f'<schema name="a"><union>{members}<module name="otherwise"/></union></schema>')

    def test_match_is_a_union(self):
        self.becomes(
            '@prompt\ndef a(days):\n    match days:\n        case 3:\n            "three"\n'
            '        case "a week" | "7":\n            "seven"\n        case Stay.LONG:\n            "long"\n'
            '        case -1:\n            "back"\n        case None:\n            pass\n'
            '        case _:\n            "?"\n',
            '<schema name="a"><union><module name="days-3">three</module><module name="a-week-or-7">seven</module>'
            '<module name="LONG">long</module><module name="minus-1">back</module><module name="None"/>'
            '<module name="otherwise">?</module></union></schema>')

    def test_a_case_whose_value_suggests_no_name_has_that_of_the_subject(self):
        self.becomes('@prompt\ndef a(place):\n    match place:\n        case "\u6d77":\n            "1"\n        case "":\n'
                     '            "2"\n        case "!" | "sea" | "\u6d77!":\n            "3"\n',
                     '<schema name="a"><union><module name="place">1</module><module name="place-2">2</module>'
                     '<module name="sea">3</module></union></schema>')

    def test_call_is_a_module_within(self):
        self.becomes('@prompt\ndef inner():\n    "in"\n\n'
                     '@prompt\ndef outer(x):\n    "out"\n    if x:\n        inner()\n',
                     '<schema name="outer">out<module name="x"><module name="inner">in</module></module></schema>')

    def test_parameters_have_the_length_of_decorator_or_annotation(self):
        expected = ('<schema name="a"><module name="plan">For <param name="days" len="5"/> days in '
                    '<param name="city" len="10"/>.</module></schema>')
        self.becomes('@prompt\n@max_length(days=5, city=10)\ndef plan(days, city):\n    f"For {days} days in {city}."\n'
                     '@prompt\ndef a(days, city):\n    plan(days, city)\n', expected)
        self.becomes('@pml.prompt\ndef plan(days: Length(5), *, city: pml.Length(10) = "Oslo"):\n'
                     '    f"For {days} " f"days in {city}."\n@pml.prompt\ndef a(d):\n    plan(d)\n', expected)

    def test_parameters_belong_to_the_innermost_module(self):
        self.becomes('@prompt\n@max_length(n=2)\ndef a(n, x):\n    if x:\n        f"{n}"\n'
                     '    if not x:\n        f"no {n}"\n',
                     '<schema name="a"><module name="x"><param name="n" len="2"/></module>'
                     '<module name="not-x">no <param name="n" len="2"/></module></schema>')

    def test_literal_braces_stay(self):
        self.becomes('@prompt\ndef a():\n    f"{{x}}"\n    "{y}"\n', '<schema name="a">{x}\n{y}</schema>')

    def test_names_within_one_parent_differ(self):
        self.becomes(
            '@prompt\ndef t():\n    "t"\n@prompt\ndef a(x, y):\n    t()\n    t()\n    if x > y:\n        "1"\n'
            '    if f(x):\n        "2"\n    if x:\n        t()\n    else:\n        "3"\n    if x:\n        "4"\n',
            '<schema name="a"><module name="t">t</module><module name="t-2">t</module><module name="when">1</module>'
            '<module name="when-2">2</module><union><module name="x"><module name="t">t</module></module>'
            '<module name="not-x">3</module></union><module name="x-2">4</module></schema>')

    def test_names_of_conditions(self):
        for condition, name in (("user.is_new", "user-is_new"), ("not user.is_new", "not-user-is_new"),
                                ("x != 'a'", "not-x-a"), ("x is None", "x-None"), ("x == y", "x-y"),
                                ("x and y", "when"), ("user", "when-user"), ("\u00fc == 1", "when"),
                                ("x == '%'", "when"), ("x in y", "when"), ("_x", "_x")):
            with self.subTest(condition):
                self.assertIn(f'<module name="{name}">',
                              self.pml(f'@prompt\ndef a(x):\n    if {condition}:\n        "t"\n'))

    def test_root_is_the_function_that_no_other_calls(self):
        source = ('import x\nVALUE = 1\ndef helper():\n    return 1\n'
                  '@prompt\ndef a():\n    b()\n@prompt\ndef b():\n    "b"\n')
        self.becomes(source, '<schema name="a"><module name="b">b</module></schema>')
        self.assertEqual(self.pml(source, "--function", "b"), '<schema name="b">b</schema>')

    def test_out_writes_a_file(self):
        target = os.path.join(self.folder, "schema.xml")
        done = self.run_tool('@prompt\ndef a():\n    "x"\n', "--out", target)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        with open(target, encoding="utf-8") as file:
            self.assertEqual(file.read(), '<schema name="a">x</schema>\n')
        self.assertEqual(sorted(os.listdir(self.folder)), ["program.py", "schema.xml"])

    def test_same_program_same_schema(self):
        source = ('@prompt\ndef a(x):\n    match x:\n        case "p":\n            "1"\n'
                  '        case "q":\n            "2"\n')
        texts = set()
        for seed in ("0", "1", "2"):
            os.environ["PYTHONHASHSEED"] = seed
            self.addCleanup(os.environ.pop, "PYTHONHASHSEED", None)
            texts.add(self.pml(source))
        self.assertEqual(len(texts), 1)

    # Refused programs

    def test_program_is_not_run(self):
        target = os.path.join(self.folder, "was_run")
        self.becomes(f'open({target!r}, "w")\n@prompt\ndef a(x=open({target!r}, "w")):\n    "x"\n',
                     '<schema name="a">x</schema>')
        self.assertFalse(os.path.exists(target))

    def test_other_statements(self):
        for statement, part in (("for i in x:\n        'y'", "for loop"), ("while x:\n        'y'", "while loop"),
                                ("y = 'x'", "assignment"), ("return 'x'", "return"), ("import os", "import"),
                                ("with x:\n        'y'", "with means a turn of the chat"), ("def g():\n        'y'", "function")):
            with self.subTest(statement):
                self.refused(f"@prompt\ndef a(x):\n    {statement}\n", ("3:5: ", part))

    def test_other_expressions(self):
        for expression, part in (("y", "y is no text"), ("'a' + x", "f-string"), ("1", "1 is no text"),
                                 ("b'x'", "no text"),
                                 ("'a'.format(x)", "'a'.format() is no @prompt function"), ("print(x)", "print()"),
                                 ("'y' if x else 'z'", "no text"), ("[b()]", "no text")):
            with self.subTest(expression):
                self.refused(f"@prompt\ndef a(x):\n    {expression}\n", ("3:5: ", part))

    def test_calls(self):
        program = ("def plain():\n    'x'\n@prompt\n@max_length(p=2)\ndef inner(p, q=1):\n    f'{p}'\n"
                   "@prompt\ndef outer(x):\n    ")
        for call, part in (("inner()", 'inner() is not given "p"'), ("inner(1, 2, 3)", "takes 2 arguments by position"),
                           ("inner(1, p=2)", 'is given "p" twice'),
                           ("inner(pp=2)", 'no parameter "pp", did you mean "p"?'),
                           ("inner(*x)", "name each argument"), ("inner(**x)", "name each argument"),
                           ("plain()", "plain() is called for a module, but is no @prompt function; decorate it"),
                           ("iner(1)", 'did you mean "inner"?'), ("x.inner(1)", "x.inner() is no @prompt function")):
            with self.subTest(call):
                column = call.index("p") + 1 if call in ("inner(pp=2)",) else 1
                column = call.index(" p=") + 2 if " p=" in call else column
                self.refused(program + call + "\n", (f"9:{4 + column}: ", part), options=("--function", "outer"))

    def test_calls_in_a_circle(self):
        self.refused("@prompt\ndef a():\n    b()\n@prompt\ndef b():\n    a()\n", ("6:5: ", "a -> b -> a"),
                     options=("--function", "a"))
        self.refused("@prompt\ndef a():\n    a()\n", ("3:5: ", "a -> a"), options=("--function", "a"))

    def test_module_named_like_a_function_is_no_circle(self):
        self.becomes('@prompt\ndef b():\n    "b"\n@prompt\ndef a(b):\n    if b:\n        b()\n',
                     '<schema name="a"><module name="b"><module name="b">b</module></module></schema>')

    def test_parameters(self):
        for text, part in (("{p}", '"p" has no length'), ("{pp}", "no parameter of that name"),
                           ("{p!r}", "conversion"), ("{p:>5}", "format"), ("{p + 1}", "is computed"),
                           ("{n}{n}", "twice")):
            with self.subTest(text):
                self.refused(f"@prompt\n@max_length(n=2)\ndef a(n, p, x):\n    if x:\n        f'{{n}}'\n    if p:\n"
                             f"        f'{text}'\n", ("7:9: ", part))
        self.refused("@prompt\n@max_length(n=2)\ndef a(n):\n    f'{n}'\n", ("4:5: ", "stands in no module"))

    def test_lengths(self):
        for decorator, place, part in (
                ("@max_length(n=0)", "2:15: ", "from 1 to"), ("@max_length(n=True)", "2:15: ", "from 1 to"),
                ("@max_length(n='5')", "2:15: ", "found '5'"), ("@max_length(n=2**70)", "2:15: ", "whole number"),
                ("@max_length(m=5)", "2:13: ", 'no parameter "m"'), ("@max_length(5)", "2:2: ", "for each name"),
                ("@max_length", "2:2: ", "for each name"), ("@max_length(**n)", "2:2: ", "for each name"),
                ("@max_lenght(n=5)", "2:2: ", 'did you mean "max_length"?'), ("@cache", "2:2: ", "take it off"),
                ("@max_length(n=5)\n@max_length(n=5)", "3:13: ", "two lengths"),
                ("@max_length(k=5)", "3:1: ", "no f-string")):
            with self.subTest(decorator):
                self.refused(f"@prompt\n{decorator}\ndef a(n, k, x):\n    if x:\n        f'{{n}}'\n", (place, part))
        self.refused("@prompt\n@max_length(n=5)\ndef a(n: Length(5), x):\n    if x:\n        f'{n}'\n",
                     ("3:7: ", "two lengths"))
        self.refused("@prompt\ndef a(n: Length(), x):\n    if x:\n        f'{n}'\n", ("2:10: ", "one number"))
        self.refused("@prompt(name='b')\ndef a():\n    'x'\n", ("1:2: ", "no arguments"))

    def test_signatures(self):
        self.refused("@prompt\ndef a(*names):\n    'x'\n", ("2:8: ", "any number of arguments"))
        self.refused("@prompt\nasync def a():\n    'x'\n", ("2:1: ", "asynchronous"))
        self.refused("@prompt\ndef a():\n    'x'\n@prompt\ndef a():\n    'y'\n", ("5:1: ", "defined twice"))
        self.refused("@prompt\ndef \u00e4():\n    'x'\n", ("2:1: ", "ASCII"))

    def test_cases(self):
        for case, place, part in (("y", "4:14: ", "chosen by a value"), ("[1, 2]", "4:14: ", "chosen by a value"),
                                  ("str()", "4:14: ", "chosen by a value"), ("1 | [2]", "4:18: ", "chosen by a value"),
                                  ("1 if x", "4:19: ", "condition of its own")):
            with self.subTest(case):
                self.refused(f"@prompt\ndef a(x):\n    match x:\n        case {case}:\n            'y'\n",
                             (place, part))
        self.refused("@prompt\ndef a(x):\n    match x:\n        case y:\n            1\n        case 2 if x:\n"
                     "            3\n", ("4:14: ", "chosen by a value"), ("5:13: ", "1 is no text"),
                     ("6:19: ", "condition of its own"), ("7:13: ", "3 is no text"))

    def test_characters_that_xml_does_not_have(self):
        self.refused("@prompt\ndef a():\n    'x\\x00'\n    '\\x1b'\n    '\\ud800'\n    f'\\uffff'\n",
                     ("3:5: ", "U+0000"), ("4:5: ", "U+001B"), ("5:5: ", "U+D800"), ("6:5: ", "U+FFFF"))

    def test_all_problems_are_told_once(self):
        self.refused("@prompt\ndef t():\n    1\n@prompt\ndef a():\n    t()\n    t()\n    2\n",
                     ("3:5: ", "1 is no text"), ("8:5: ", "2 is no text"))

    def test_columns_count_characters(self):
        self.refused("@prompt\ndef a():\n    '\u6bb5\u843d'; x\n", ("3:11: ", "x is no text"))

    def test_files(self):
        self.refused("", ("", "no function decorated with @prompt"))
        self.refused("def a(:\n", ("1:", "is no Python"))
        self.refused("x = 1\n\0", ("1:1: ", "is no Python"))
        self.refused(b"# \xff\n", ("1: ", "not valid UTF-8"))
        self.refused("@prompt\ndef a():\n    'x'\n@prompt\ndef b():\n    'y'\n", ("", "--function: a, b"))
        self.refused("@prompt\ndef abc():\n    'x'\n", ("", 'did you mean "abc"?'), options=("--function", "abd"))
        done = subprocess.run([sys.executable, TOOL, os.path.join(self.folder, "absent.py")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"absent\.py: cannot be read: No such file.*\n\Z")
        self.becomes(b"\xef\xbb\xbf@prompt\ndef a():\n    'x'\n", '<schema name="a">x</schema>')

    def test_hostile_programs_end_in_an_error(self):
        deep = "@prompt\ndef a(x):\n" + "".join(" " * (i + 1) + "if x:\n" for i in range(90)) + " " * 91 + "'x'\n"
        self.assertEqual(self.pml(deep).count("<module"), 90)
        chain = "".join(f"@prompt\ndef f{i}():\n    f{i + 1}()\n" for i in range(150))
        chain += "@prompt\ndef f150():\n    'x'\n"
        self.refused(chain, (f"{3 * 100 + 3}:5: ", "nested deeper than 100"))
        twice = "".join(f"@prompt\ndef f{i}():\n    f{i + 1}()\n    f{i + 1}()\n" for i in range(40))
        done = self.run_tool(twice + "@prompt\ndef f40():\n    'x'\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"more than 10000 modules", done.stderr)
        for source in ("(" * 5000, "-" * 100000 + "1", "x = " + "[" * 150 + "]" * 150,
                       "@prompt\ndef a(x):\n    " + "1+" * 900 + "1\n",
                       "@prompt\ndef a(x):\n    " + "x." * 900 + "x\n"):
            done = self.run_tool(source)
            self.assertEqual(done.returncode, 1)
            self.assertNotIn(b"Traceback", done.stderr)
            self.assertRegex(done.stderr.decode(), re.escape(self.path))


if __name__ == "__main__":
    unittest.main()
