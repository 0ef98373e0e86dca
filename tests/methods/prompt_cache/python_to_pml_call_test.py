"""python_to_pml_call_test.py TOOL PROGRAM MODEL: tests prompts made from calls of a program, and turns of a chat. A schema and
a prompt made from a program must give the same answer as a pair that is written by hand."""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

MODEL, PROGRAM, TOOL = (os.path.abspath(sys.argv.pop()) for _ in range(3))

PLAN = '''@prompt
@max_length(days=8)
def plan(days, place="sea"):
    f"A plan for {days}."
    match place:
        case "sea" | Place.COAST:
            "I like beaches."
        case 7:
            "I like seven hills."
        case _:
            "Surprise me."
'''
TRIP = PLAN + '''@prompt
def travel(days, place, formal, question):
    with system:
        "You plan journeys."
    with user:
        plan(days, place)
        if formal:
            "Be polite."
        question
'''
SCHEMA = ('<schema name="travel"><system>You plan journeys.</system><user part="open"/><module name="plan">A plan for '
          '<param name="days" len="8"/>.<union><module name="sea-or-COAST">I like beaches.</module><module name="place-7">'
          'I like seven hills.</module><module name="otherwise">Surprise me.</module></union></module>'
          '<module name="formal">Be polite.</module></schema>')


class Calls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "program.py")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def tool(self, source, *options):
        self.write("program.py", source)
        return subprocess.run([sys.executable, TOOL, self.path, *options], capture_output=True, text=True, check=False)

    def pml(self, source, *options):
        done = self.tool(source, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ElementTree.fromstring(done.stdout)  # is well-formed
        return done.stdout.removesuffix("\n")

    def calls(self, source, call, expected):
        self.assertEqual(self.pml(source, "--call", call), expected)

    def refused(self, source, place, part, *options):
        done = self.tool(source, *options)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(done.stderr.startswith(place), done.stderr)
        self.assertIn(part, done.stderr)

    def answer(self, schema, prompt):
        """Checks both files, and returns what `reprise pml run` answers and the line with its counts of tokens."""
        files = (self.write("s.xml", schema), self.write("p.xml", prompt))
        for command in (("check", *files), ("run", *files, "--model", MODEL, "--max-new-tokens", "24", "--threads", "1")):
            done = subprocess.run([PROGRAM, "pml", *command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.strip())
        return done.stdout, next(line for line in done.stderr.splitlines() if "tokens imported" in line)

    # A schema and its prompts

    def test_a_call_gives_the_prompt_of_its_schema(self):
        self.assertEqual(self.pml(TRIP), SCHEMA)
        self.calls(TRIP, "travel('3 days', 'sea', True, question='Where do I surf?')",
                   '<prompt schema="travel"><plan days="3 days"><sea-or-COAST/></plan><formal/>Where do I surf?'
                   '<user part="close"/></prompt>')
        self.calls(TRIP, "travel(days=3, place='moon', formal=0, question='?')",
                   '<prompt schema="travel"><plan days="3"><otherwise/></plan>?<user part="close"/></prompt>')
        for place, member in (("Place.COAST", "sea-or-COAST"), ("7", "place-7"), ("None", "otherwise")):
            self.assertIn(f"<{member}/>", self.pml(TRIP, "--call", f"travel('', {place}, False, '?')"))

    def test_both_answer_as_the_pair_written_by_hand(self):
        by_hand = self.answer(
            '<schema name="travel">\n<system>You plan journeys.</system>\n<user part="open"/>\n'
            '<module name="plan">A plan for <param name="days" len="8"/>.<union><module name="sea">I like beaches.</module>'
            '<module name="rome">I like seven hills.</module><module name="other">Surprise me.</module></union></module>\n'
            '<module name="polite">Be polite.</module>\n</schema>',
            '<prompt schema="travel"><plan days="3 days"><sea/></plan><polite/>Where do I surf?<user part="close"/></prompt>')
        schema = self.pml(TRIP)
        call = "travel('3 days', 'sea', True, 'Where do I surf?')"
        self.assertEqual(self.answer(schema, self.pml(TRIP, "--call", call)), by_hand)
        for other in ("travel('3 days', 'sea', False, 'Where do I surf?')", "travel('3 days', 7, True, 'Where do I surf?')"):
            self.assertNotEqual(self.answer(schema, self.pml(TRIP, "--call", other)), by_hand, other)

    def test_turns_of_examples_and_of_the_prompt_alone(self):
        source = ('@prompt\ndef a(shots, question):\n    "Sums."\n    if shots:\n        with user:\n            "1 + 1"\n'
                  '        with assistant:\n            "2"\n    with user:\n        question\n')
        schema, prompt = self.pml(source), self.pml(source, "--call", "a(True, '2 + 2 < 5')")
        self.assertEqual(schema, '<schema name="a">Sums.<module name="shots"><user>1 + 1</user><assistant>2</assistant>'
                                 '</module></schema>')
        self.assertEqual(prompt, '<prompt schema="a"><shots/><user>2 + 2 &lt; 5</user></prompt>')
        by_hand = ('<schema name="a">Sums. <module name="s"><user> 1 + 1 </user> <assistant> 2 </assistant></module></schema>',
                   '<prompt schema="a"><s/><user><![CDATA[2 + 2 < 5]]></user></prompt>')
        self.assertEqual(self.answer(schema, prompt), self.answer(*by_hand))

    def test_a_turn_is_no_scope_and_keeps_its_texts_white_space(self):
        self.assertEqual(self.pml('@prompt\ndef a(x):\n    with system:\n        if x:\n            "1"\n    " b "\n'
                                  '    if x:\n        "2"\n'),
                         '<schema name="a"><system><module name="x">1</module></system><![CDATA[ ]]>b<![CDATA[ ]]>'
                         '<module name="x-2">2</module></schema>')

    def test_own_text_after_text_is_a_line_of_its_own(self):
        source = '@prompt\ndef a(q):\n    with user:\n        "Answer this:"\n        q\n'
        self.assertEqual(self.pml(source), '<schema name="a"><user part="open"/>Answer this:</schema>')
        self.calls(source, "a('why?')", '<prompt schema="a"><![CDATA[\n]]>why?<user part="close"/></prompt>')

    def test_a_turn_that_the_schema_opened_is_closed_without_text(self):
        self.calls(TRIP, "travel('x', 'sea', False, '')",
                   '<prompt schema="travel"><plan days="x"><sea-or-COAST/></plan><user part="close"/></prompt>')

    # Conditions and which branch they choose

    def test_conditions(self):
        for test, call, is_chosen in (("x", "1", True), ("x", "''", False), ("not x", "0", True), ("x == 'a'", "'a'", True),
                                      ("x != 'a'", "'a'", False), ("x is None", "None", True), ("x in ('a', 'b')", "'b'", True),
                                      ("1 < x <= 3", "3", True), ("1 < x <= 3", "4", False), ("x and x > 2", "0", False),
                                      ("x == -1 or x == Day.SUN", "Day.SUN", True), ("x == Day.SUN", "Day.MON", False),
                                      ("x is True", "1", False), ("x is True", "True", True), ("x is not False", "0", True),
                                      ("x == (1,)", "[1]", False), ("x == [1]", "[1]", True), ("x == {1, 2}", "{2, 1}", True)):
            with self.subTest(f"{test} of {call}"):
                prompt = self.pml(f"@prompt\ndef a(x, q):\n    if {test}:\n        'yes'\n    q\n", "--call", f"a({call}, 'q')")
                self.assertEqual(prompt.count("/>"), int(is_chosen), prompt)

    def test_the_first_true_branch_is_the_one(self):
        source = ('@prompt\ndef a(x, q="?"):\n    if x > 2:\n        "1"\n    elif x > 1:\n        "2"\n    elif x > 0:\n'
                  '        "3"\n    q\n')
        for x, names in ((3, "when"), (2, "when-2"), (1, "when-3")):
            self.calls(source, f"a({x})", f'<prompt schema="a"><{names}/>?</prompt>')
        self.calls(source, "a(0)", '<prompt schema="a">?</prompt>')

    def test_conditions_behind_the_true_one_are_not_evaluated(self):
        source = ('@prompt\ndef a(n, q):\n    if n is None:\n        "none"\n    elif n > 3:\n        "many"\n'
                  '    else:\n        "few"\n    q\n')
        for n, name in (("None", "n-None"), ("4", "when"), ("3", "otherwise")):
            self.calls(source, f"a({n}, 'q')", f'<prompt schema="a"><{name}/>q</prompt>')

    def test_a_case_whose_value_suggests_no_name(self):
        source = '@prompt\ndef a(x, q):\n    match x:\n        case "":\n            "1"\n        case "\u6d77" | "!":\n' \
                 '            "2"\n    q\n'
        for value, name in (("''", "x"), ("'\u6d77'", "x-2"), ("'!'", "x-2")):
            self.calls(source, f"a({value}, 'q')", f'<prompt schema="a"><{name}/>q</prompt>')

    def test_names_are_the_schemas_and_arguments_the_callers(self):
        source = PLAN + '@prompt\ndef a(x, q):\n    plan(x)\n    plan(place="moon", days="a & \\"b\\"\\n")\n    q\n'
        self.calls(source, "a('one', 'two')",
                   '<prompt schema="a"><plan days="one"><sea-or-COAST/></plan>'
                   '<plan-2 days="a &amp; &quot;b&quot;&#10;"><otherwise/></plan-2>two</prompt>')

    def test_the_space_in_front_of_an_argument_stays(self):
        for argument, given in (("3", "3"), (" 3", "  3"), ("", " ")):
            prompt = self.pml(PLAN + '@prompt\ndef a(q):\n    plan(' + repr(argument) + ')\n    q\n', "--call", "a('?')")
            self.assertIn(f'<plan days="{given}">', prompt)

    def test_nothing_is_run(self):
        target = os.path.join(self.folder, "was_run")
        self.refused(TRIP, "--call:1:8: ", "never run", "--call", f"travel(open({target!r}, 'w'), 'sea', 1, 'q')")
        self.assertFalse(os.path.exists(target))

    # Errors

    def test_calls_that_are_none(self):
        for call, place, part in (
                ("travel(", "--call: ", "no expression of Python"), ("1", "--call:1:1: ", "no call of the schema's function"),
                ("travl(1)", "--call:1:1: ", 'did you mean "travel"?'),
                ("plan('x')", "--call:1:1: ", "choose it with --function plan"),
                ("travel('x', 'sea')", "--call:1:1: ", 'is not given "formal"'),
                ("travel(1, 2, 3, 4, 5)", "--call:1:1: ", "takes 4 arguments"),
                ("travel(None, 'sea', 1, 'q')", "--call:1:8: ", "give a string or a number"),
                ("travel(x, 'sea', 1, 'q')", "--call:1:8: ", "make it a parameter"),
                ("travel('\u00e9', x, 1, 'q')", "--call:1:13: ", "make it a parameter"),
                (f"travel(0x{'f' * 5000}, 'sea', 1, 'q')", "--call:1:8: ", "too many digits"),
                ("travel('', 'sea', 1, '')", "--call:1:1: ", '"question" is empty')):
            with self.subTest(call):
                self.refused(TRIP, place, part, "--call", call)

    def test_conditions_that_a_call_does_not_decide(self):
        for test, part in (("x.is_new", "x.is_new is known only"), ("len(x)", "len(x) is known only"), ("y", "y is known only"),
                           ("x < 'a'", "has no value for this call")):
            with self.subTest(test):
                self.refused(f"@prompt\ndef a(x, q):\n    if {test}:\n        'y'\n    q\n", f"{self.path}:3:8: ", part,
                             "--call", "a(1, 'q')")

    def test_turns(self):
        self.refused("@prompt\ndef a():\n    with usr:\n        'x'\n", f"{self.path}:3:5: ", 'did you mean "user"?')
        self.refused("@prompt\ndef a():\n    with user:\n        b()\n@prompt\ndef b():\n    with assistant:\n        'x'\n",
                     f"{self.path}:7:5: ", "turns follow each other")

        self.refused("@prompt\ndef a(q):\n    with system:\n        ''\n    q\n", f"{self.path}:3:5: ", "holds nothing")

    def test_positional_parameters(self):
        source = "@prompt\ndef a(x, /, q):\n    if x:\n        'y'\n    q\n"
        self.calls(source, "a(1, q='?')", '<prompt schema="a"><x/>?</prompt>')
        self.refused(source, "--call:1:", '"x" by position only', "--call", "a(x=1, q='?')")

    def test_own_text_stands_last(self):
        self.refused("@prompt\ndef a(q):\n    q\n    'x'\n", f"{self.path}:3:5: ", "make it the last statement")
        self.refused("@prompt\ndef a(q):\n    with user:\n        q\n    with assistant:\n        'x'\n", f"{self.path}:4:9: ",
                     "make it the last statement")
        self.refused("@prompt\ndef a(q):\n    if q:\n        q\n", f"{self.path}:4:9: ", "the last statement of the schema's")
        self.refused("@prompt\n@max_length(q=3)\ndef a(q):\n    q\n", f"{self.path}:3:1: ", '"q" has a length')
        self.refused("@prompt\ndef a():\n    'x'\n", "--call:1:1: ", "end a() with a parameter", "--call", "a()")


if __name__ == "__main__":
    unittest.main()
