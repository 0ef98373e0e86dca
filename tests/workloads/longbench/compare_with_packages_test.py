"""compare_with_packages_test.py REPRISE: `reprise longbench score` against the Python packages that define the scores.

The packages are rouge 1.0.1, fuzzywuzzy 0.18 (with and without python-Levenshtein) and jieba 0.42.1 from PyPI; each
test skips where its package cannot be imported (pip install --target FOLDER rouge==1.0.1 fuzzywuzzy jieba, and put
FOLDER on PYTHONPATH). LongBench's own steps around them are written here a second time, from its definition and not
from our C++. Scores must be equal to the last bit.
"""
import collections
import importlib.util
import json
import os
import random
import re
import string
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import warnings

REPRISE = os.path.abspath(sys.argv.pop(1))
SEED = 20231017

EN_WORDS = ["the", "a", "An", "cat", "cat's", "CAT", "dog.", "e.g.", "Paragraph", "7", "12.5",
            "\u00e9t\u00e9", "e\u0301t", "\u039f\u0394\u039f\u03a3", "\u0130x", "--", "(so)", "\u2019s", "no", "yes", "\u0667", "a_b", "\U0001f600"]
SPACES = [" ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", ". ", ".", "\x1c"]
ZH_PARTS = ["\u6211", "\u6765\u5230", "\u5317\u4eac", "\u6e05\u534e\u5927\u5b66", "\uff0c", "\u3002", "\u300a", "\u300b",
            "\u201c", "\u6bb5\u843d", "5", "12", "ABC", " ", "\n", ".", "\uff01", "\u56e0\u4e3a", "\u4eba\u5de5\u667a\u80fd",
            "\u2026"]
ZH_PUNCTUATION = set(
    "\uff01\uff1f\uff61\u3002\uff02\uff03\uff04\uff05\uff06\uff07\uff08\uff09\uff0a\uff0b\uff0c\uff0d\uff0f\uff1a\uff1b\uff1c"
    "\uff1d\uff1e\uff20\uff3b\uff3c\uff3d\uff3e\uff3f\uff40\uff5b\uff5c\uff5d\uff5e\uff5f\uff60\uff62\uff63\uff64\u3001\u3003"
    "\u300b\u300c\u300d\u300e\u300f\u3010\u3011\u3014\u3015\u3016\u3017\u3018\u3019\u301a\u301b\u301c\u301d\u301e\u301f\u3030"
    "\u303e\u303f\u2013\u2014\u2018\u2019\u201b\u201c\u201d\u201e\u201f\u2026\u2027\ufe4f.")
CODE_PARTS = ["int ", "x", "y", " = ", "(", ")", ";", "return ", "foo", "_bar", "\n", "# c", "//", "`", "    ", "\u4e00",
              "1"]


def text_of(rng, parts, most):
    return "".join(rng.choice(parts) for _ in range(rng.randrange(most + 1)))


def english(rng, most=30):
    return "".join(rng.choice(EN_WORDS) + rng.choice(SPACES) for _ in range(rng.randrange(most + 1)))


def varied(rng, text, parts):
    """Returns a text that shares much with `text`."""
    if rng.random() < 0.3:
        return text_of(rng, parts, 30)
    cut, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:cut] + text_of(rng, parts, 3) + text[end:]


def scores_of(dataset, items, *options, env=None):
    """Returns our scores; items are (prediction, answers, classes)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, dataset + ".jsonl")
        with open(path, "w", encoding="utf-8") as out:
            for pred, answers, classes in items:
                out.write(json.dumps({"pred": pred, "answers": answers, "all_classes": classes, "length": 1},
                                     ensure_ascii=False) + "\n")
        done = subprocess.run([REPRISE, "longbench", "score", "--items", *options, path], text=True,
                              capture_output=True, check=False, env=env)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [json.loads(line)["score"] for line in done.stdout.splitlines()]


def is_there(package):
    return importlib.util.find_spec(package) is not None


def f1_of(prediction, answer):
    same = sum((collections.Counter(prediction) & collections.Counter(answer)).values())
    if same == 0:
        return 0
    precision, recall = 1.0 * same / len(prediction), 1.0 * same / len(answer)
    return (2 * precision * recall) / (precision + recall)


def english_words(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def classification(prediction, answer, classes):
    found = [name for name in classes if name in prediction]
    for name in found:  # the list shrinks meanwhile, as in the official loop
        if name in answer and name != answer:
            found.remove(name)
    return 1.0 / len(found) if answer in found else 0.0


def share(numbers, wanted):
    return sum(number == wanted for number in numbers) / len(numbers) if numbers else 0.0


def code_line(prediction):
    for line in prediction.lstrip("\n").split("\n"):
        if not any(mark in line for mark in ("`", "#", "//")):
            return line
    return ""


# The scorer runs as deep in calls as in LongBench's eval.py: below the program and its loop over predictions. For Chinese
# it is one call deeper.
ROUGE_PROGRAM = """
import json, sys
from rouge import Rouge
def rouge_score(prediction, answer):
    try:
        scores = Rouge().get_scores([prediction], [answer], avg=True)
    except Exception:
        return 0.0
    return scores["rouge-l"]["f"]
def rouge_zh_score(prediction, answer):
    import jieba
    prediction = " ".join(list(jieba.cut(prediction, cut_all=False)))
    answer = " ".join(list(jieba.cut(answer, cut_all=False)))
    return rouge_score(prediction, answer)
def scorer(pairs, score):
    found = []
    for prediction, answer in pairs:
        found.append(score(prediction, answer))
    return found
task = json.load(sys.stdin)
if task["limit"]:
    sys.setrecursionlimit(task["limit"])
print(json.dumps(scorer(task["pairs"], rouge_zh_score if task["chinese"] else rouge_score)))
"""


def rouge_scores(pairs, chinese=False, limit=0):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.py")
        with open(program, "w", encoding="utf-8") as out:
            out.write(ROUGE_PROGRAM)
        done = subprocess.run([sys.executable, program], input=json.dumps(
            {"pairs": pairs, "chinese": chinese, "limit": limit}), text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def pairs_and_items(rng, make, parts, count):
    pairs = []
    for _ in range(count):
        answer = make(rng)
        pairs.append([varied(rng, answer, parts), answer])
    pairs += [["", "x"], ["x", ""], ["\n", "\n"], ["\n\n", "x"], ["...", "x"], ["x. ", "x"], ["", ""]]
    return pairs, [(pred, [answer], None) for pred, answer in pairs]


class Packages(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.rng = random.Random(SEED)

    def agree(self, ours, theirs, pairs):
        self.assertEqual(len(ours), len(theirs))
        for mine, other, pair in zip(ours, theirs, pairs):
            self.assertEqual(mine, other, pair)
        self.assertGreater(len(set(theirs)), 5)  # the texts give different scores

    def test_qa_f1(self):
        pairs, items = pairs_and_items(self.rng, english, [w + " " for w in EN_WORDS], 400)
        theirs = [f1_of(english_words(pred), english_words(answer)) for pred, answer in pairs]
        self.agree(scores_of("narrativeqa", items), theirs, pairs)

    def test_every_character(self):
        """Uses the characters of Unicode 3.2, because Python and our library may follow different later versions."""
        codes = [code for code in range(sys.maxunicode + 1)
                 if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Co", "Cs")]
        pairs = []
        for code in codes:
            # Each character ends an article, in lower case, around a sigma, beside a digit, and as a word.
            pred = "a{0} X{0} B\u03a3{0} {0}\u03a3 7{0} an {0}".format(chr(code))
            pairs.append([pred, " ".join(english_words(pred)) + " more"])
        theirs = [f1_of(english_words(pred), english_words(answer)) for pred, answer in pairs]
        ours = scores_of("narrativeqa", [(pred, [answer], None) for pred, answer in pairs])
        self.assertEqual([hex(code) for code, mine, other in zip(codes, ours, theirs) if mine != other], [])

    def test_classification_retrieval_count(self):
        classes = ["a", "b", "ab", "abc", "bc", "c d", "d"]
        items = [(text_of(self.rng, ["a", "b", "c", " ", "d"], 8), [self.rng.choice(classes)],
                  self.rng.sample(classes, self.rng.randrange(1, 8))) for _ in range(400)]
        theirs = [classification(pred.lstrip("\n").split("\n")[0], answers[0], names) for pred, answers, names in items]
        self.agree(scores_of("trec", items), theirs, items)
        parts = ["Paragraph ", "7", "1", " ", "\u0667", "x", "\n", "\u00b2", "\u6bb5\u843d"]
        for dataset, form in (("passage_retrieval_en", "Paragraph %s"), ("passage_retrieval_zh", "\u6bb5\u843d%s"),
                              ("passage_count", "%s")):
            items = [(text_of(self.rng, parts, 12), [form % self.rng.choice(["7", "1", "17"])], None)
                     for _ in range(400)]
            theirs = [share(re.findall(r"\d+", pred), re.findall(r"\d+", answers[0])[0]) for pred, answers, _ in items]
            self.agree(scores_of(dataset, items), theirs, items)

    def check_code(self, *options):
        from fuzzywuzzy import fuzz
        pairs = []
        for most in (10, 10, 120):  # some answers have 200 characters and more
            for _ in range(150):
                answer = text_of(self.rng, [p for p in CODE_PARTS if p not in ("\n", "# c", "//", "`")], most)
                pairs.append([varied(self.rng, answer, CODE_PARTS), answer])
        pairs += [["ba" * 100, "ab" * 100], ["", ""], ["# x", ""], ["x", ""], ["", "x"], ["\n\nx", "x"]]
        theirs = [fuzz.ratio(code_line(pred), answer) / 100 for pred, answer in pairs]
        self.agree(scores_of("lcc", [(pred, [answer], None) for pred, answer in pairs], *options), theirs, pairs)

    def test_code_similarity_by_difflib(self):
        if not is_there("fuzzywuzzy"):
            self.skipTest("fuzzywuzzy is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it recommends python-Levenshtein
            import difflib
            from fuzzywuzzy import fuzz
            used, fuzz.SequenceMatcher = fuzz.SequenceMatcher, difflib.SequenceMatcher
            try:
                self.check_code()
            finally:
                fuzz.SequenceMatcher = used

    def test_code_similarity_by_levenshtein(self):
        if not is_there("fuzzywuzzy") or not is_there("Levenshtein"):
            self.skipTest("fuzzywuzzy or python-Levenshtein is not installed")
        self.check_code("--levenshtein")

    def test_rouge(self):
        if not is_there("rouge"):
            self.skipTest("rouge is not installed")
        pairs, items = pairs_and_items(self.rng, english, [w + " " for w in EN_WORDS] + ["."], 400)
        self.agree(scores_of("gov_report", items), rouge_scores(pairs), pairs)

    def test_rouge_ends_where_python_does(self):
        if not is_there("rouge"):
            self.skipTest("rouge is not installed")
        texts = [" ".join(f"w{i}" for i in range(count)) for count in (500, 980, 989, 990, 991, 992, 1000, 1300)]
        pairs = [[text, text] for text in texts]
        pairs += [["w0" + " x" * n, "w0" + " y" * n] for n in (490, 494, 495, 496, 700)]
        items = [(pred, [answer], None) for pred, answer in pairs]
        theirs = rouge_scores(pairs)
        self.assertIn(0.0, theirs)
        self.assertEqual(scores_of("gov_report", items), theirs)
        self.assertEqual(scores_of("gov_report", items, "--no-recursion-limit"), rouge_scores(pairs, limit=100000))

    def test_chinese(self):
        if not is_there("jieba"):
            self.skipTest("jieba is not installed")
        import logging
        import jieba
        jieba.setLogLevel(logging.ERROR)
        env = dict(os.environ, REPRISE_PYTHON=sys.executable)

        def words(text):
            found = ("".join(c for c in word.lower() if c not in string.punctuation and c not in ZH_PUNCTUATION)
                     for word in jieba.cut(text, cut_all=False))
            return [word for word in ("".join(word.split()) for word in found) if word]

        pairs, items = pairs_and_items(self.rng, lambda rng: text_of(rng, ZH_PARTS, 40), ZH_PARTS, 300)
        theirs = [f1_of(words(pred), words(answer)) for pred, answer in pairs]
        self.agree(scores_of("multifieldqa_zh", items, env=env), theirs, pairs)
        if not is_there("rouge"):
            self.skipTest("rouge is not installed")
        self.agree(scores_of("vcsum", items, env=env), rouge_scores(pairs, chinese=True), pairs)
        # jieba keeps each number in one piece.
        pairs = [[" ".join(str(i) for i in range(count))] * 2 for count in (400, 988, 989, 990, 991, 1100)]
        items = [(pred, [answer], None) for pred, answer in pairs]
        theirs = rouge_scores(pairs, chinese=True)
        self.assertIn(0.0, theirs)
        self.assertEqual(scores_of("vcsum", items, env=env), theirs)

    def test_errors_are_one_paragraph(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "narativeqa.jsonl")
            with open(path, "w", encoding="utf-8") as out:
                out.write("{}\n")
            bad = os.path.join(folder, "bad.jsonl")
            with open(bad, "w", encoding="utf-8") as out:
                out.write('{"pred": "", "answers": ["a"], "all_classes": null}\n')
            for options, part in (([path], 'did you mean "narrativeqa"?'),
                                  (["--dataset", "narrativeqa", path], 'narativeqa.jsonl:1: key "pred" is missing'),
                                  ([os.path.join(folder, "trec.jsonl")], "cannot read"), ([], "files is required"),
                                  (["--dataset", "passage_count", bad, path], "narativeqa.jsonl:1"),
                                  (["--dataset", "trec", bad], "bad.jsonl: prediction 1")):
                done = subprocess.run([REPRISE, "longbench", "score", *options], text=True, capture_output=True,
                                      check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(part, done.stderr)
                self.assertEqual(done.stdout, "")
            for words, part in ((["scor"], 'longbench: unknown command "scor", did you mean "score"?'),
                                (["score", "--item", path], 'score: unknown option "--item", did you mean "--items"?')):
                done = subprocess.run([REPRISE, "longbench", *words], text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(part, done.stderr)

    def test_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hotpotqa_e.jsonl")
            with open(path, "w", encoding="utf-8") as out:
                for pred, length in (("b", 10), ("c", 5000), ("x b", 9000)):
                    line = {"pred": pred, "answers": ["b"], "all_classes": None, "length": length}
                    out.write(json.dumps(line) + "\n")
            done = subprocess.run([REPRISE, "longbench", "score", "--lengths", path], text=True, capture_output=True,
                                  check=True)
        self.assertEqual([line.split() for line in done.stdout.splitlines()],
                         [["dataset", "metric", "items", "score", "0-4k", "4-8k", "8k+"],
                          ["hotpotqa", "qa_f1_score", "3", "55.56", "100.00", "0.00", "66.67"]])

    def test_a_missing_length_names_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"hotpotqa.{name}.jsonl") for name in ("with", "without")]
            for path, more in zip(paths, ({"length": 10}, {})):
                with open(path, "w", encoding="utf-8") as out:
                    out.write(json.dumps({"pred": "b", "answers": ["b"], "all_classes": None} | more) + "\n")
            done = subprocess.run([REPRISE, "longbench", "score", "--lengths", *paths], text=True, capture_output=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{paths[1]}: prediction 1 has no \"length\"", " ".join(done.stderr.split()))
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["dataset", "hotpotqa"])


if __name__ == "__main__":
    unittest.main()
