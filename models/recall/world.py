"""Writes the contexts of the recall set: numbered passages about a few people, and questions that
only the passages answer.

A context depends on (seed, stream, index) alone. Each fact is about one person, the last one named
before the value ("Ann lives in Alden. She has a lamp."), and no two facts of a context share a
value. A passage may begin with a person that only the passage before it names:

    Passage 2: Ira likes soup. The boss of Ann is Tom.
    Passage 5: He lives in Alden. Ann has a lamp.

Encoded apart, passage 5 does not know who lives in Alden. Such facts cross a border, in the words
below; questions for all other facts can be answered from passages that do not see each other.

Every word is one token, so texts are made as lists of tokens, and tokenizing their text gives the
same list (evaluate.py checks it over all items).
"""

import pathlib
import re
import sys
import zlib
from dataclasses import dataclass, field
from typing import NamedTuple

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "quickstart"))

from text.grammar import Rng  # noqa: E402
from text.words import MEN, NAMES, THINGS, TOWNS  # noqa: E402

HOMES = TOWNS + "Arden Birk Castel Dover Elm Fenwick Glenn Harrow Lund".split()
FOODS = (
    "soup bread rice cheese fish honey beans plums cake tea milk pears carrots nuts salad noodles"
    " porridge berries pepper mustard jam butter grapes figs"
).split()
RELATIONS = "boss friend teacher neighbour".split()
NUMBERS = [str(number) for number in range(1, 13)]
LETTERS = "ABCD"


class Word(NamedTuple):
    """A token and what training may ask of it: whom it is said of, and under which passage number
    or letter it stands."""

    text: str
    subject: str = ""
    place: str = ""


def _tokens(template):
    """ "WHO has a VALUE." -> (" WHO", " has", " a", " VALUE", ".")"""
    return tuple(re.sub(r"^(?=\w)", " ", part) for part in re.findall(r"\w+|[^\w\s]", template))


@dataclass(frozen=True)
class Kind:
    """A kind of fact. Of the statements the first suits a pronoun too."""

    name: str
    values: tuple
    statements: tuple
    question: tuple
    clause: tuple  # after "which passage says"


KINDS = (
    Kind(
        "home",
        tuple(HOMES),
        (_tokens("WHO lives in VALUE."), _tokens("The home of WHO is VALUE.")),
        _tokens("where does WHO live?"),
        _tokens("where WHO lives"),
    ),
    Kind(
        "thing",
        tuple(THINGS),
        (_tokens("WHO has a VALUE."), _tokens("WHO owns a VALUE.")),
        _tokens("what does WHO have?"),
        _tokens("what WHO has"),
    ),
    Kind(
        "food",
        tuple(FOODS),
        (_tokens("WHO likes VALUE."), _tokens("WHO loves VALUE.")),
        _tokens("what does WHO like?"),
        _tokens("what WHO likes"),
    ),
)
RELATION = _tokens("The RELATION of WHO is VALUE.")
RELATION_QUESTION = _tokens("who is the RELATION of WHO?")
RELATION_CLAUSE = _tokens("who the RELATION of WHO is")


def is_held_out(who, value):
    """One pair of person and value in eight is never stated in training; items ask for such
    pairs alone."""
    return zlib.crc32(f"{who}/{value}".encode()) % 8 == 0


@dataclass(frozen=True)
class Fact:
    kind: Kind | None  # None: value is the person who is `relation` of `who`
    who: str
    value: str
    document: int
    crosses: bool = False  # the passage itself does not name `who`
    relation: str = ""


@dataclass
class Context:
    numbers: list
    documents: list  # of lists of Word
    facts: list = field(default_factory=list)

    def text(self):
        return ["".join(word.text for word in document) for document in self.documents]


@dataclass(frozen=True)
class Question:
    """`words` end where the answer begins. `value` is what has to be found before the answer can
    be given (they differ in choice questions), `bridge` whom it is said of."""

    task: str
    words: tuple
    answer: str
    subject: str
    bridge: str
    value: str
    fact: Fact
    choices: tuple = ()

    def text(self):
        return "".join(word.text for word in self.words)


@dataclass(frozen=True)
class Shape:
    """How many passages a context has, and how many sentences a passage (first and last)."""

    documents: tuple
    sentences: tuple


class _Writer:
    def __init__(self, rng, shape, is_training):
        self.rng, self.is_training = rng, is_training
        counts = [rng.between(*shape.sentences) for _ in range(rng.between(*shape.documents))]
        people = round(sum(counts) * (0.4 + 0.2 * rng.below(1000) / 1000))
        self.people = rng.sample(NAMES, min(len(NAMES), max(3, people)))
        self.free_values = {kind.name: rng.shuffled(kind.values) for kind in KINDS}
        self.known = set()  # (who, kind name)
        self.related = set()  # who has a boss, friend, ...
        self.last = ""  # the person named last, in this passage or before
        self.is_named_here = False
        numbers = sorted(rng.sample(range(len(NUMBERS)), len(counts)))
        self.context = Context([NUMBERS[number] for number in numbers], [])
        is_linked = False
        for document, sentences in enumerate(counts):
            links_on = document + 1 < len(counts) and rng.chance(0.45)
            is_linked = self.write_document(document, sentences, is_linked, links_on)

    def write_document(self, document, sentences, is_linked, links_on):
        """True if the next passage can begin with a pronoun for the last person of this one."""
        number = self.context.numbers[document]
        self.words = [Word("Passage"), Word(" " + number), Word(":")]
        self.place, self.document, self.is_named_here = number, document, False
        for sentence in range(sentences):
            is_last = sentence + 1 == sentences
            if sentence == 0 and is_linked:
                self.add_fact(self.last, is_pronoun=True)
            elif is_last and links_on:
                self.add_relation() or self.add_named_fact()
            else:
                self.add_sentence(sentence)
        self.words.append(Word("\n"))
        self.context.documents.append(self.words)
        return links_on and self.is_named_here and bool(self.open_kinds(self.last))

    def add_sentence(self, sentence):
        roll = self.rng.below(100)
        if sentence > 0 and roll < 30 and self.add_fact(self.last, is_pronoun=True):
            return
        if roll < 65 and self.add_relation():
            return
        self.add_named_fact() or self.add_relation()

    def open_kinds(self, who):
        return [
            kind
            for kind in KINDS
            if (who, kind.name) not in self.known and self.free_values[kind.name]
        ]

    def take_value(self, who, kind):
        free = self.free_values[kind.name]
        for index in range(len(free) - 1, -1, -1):
            if not (self.is_training and is_held_out(who, free[index])):
                return free.pop(index)
        return None

    def add_named_fact(self):
        for _ in range(8):
            if self.add_fact(self.rng.pick(self.people), is_pronoun=False):
                return True
        return False

    def add_fact(self, who, is_pronoun):
        kinds = self.open_kinds(who) if who else []
        if not kinds:
            return False
        kind = self.rng.pick(kinds)
        value = self.take_value(who, kind)
        if value is None:
            return False
        crosses = is_pronoun and not self.is_named_here
        statement = kind.statements[0] if is_pronoun else self.rng.pick(kind.statements)
        shown = ("He" if who in MEN else "She") if is_pronoun else who
        self.add_words(statement, who, shown, value)
        self.known.add((who, kind.name))
        self.context.facts.append(Fact(kind, who, value, self.document, crosses))
        if not is_pronoun:
            self.last, self.is_named_here = who, True
        return True

    def add_relation(self):
        pairs = [
            (who, other)
            for who, other in (self.rng.sample(self.people, 2) for _ in range(4))
            if who not in self.related
            and self.open_kinds(other)
            and not (self.is_training and is_held_out(who, other))
        ]
        if not pairs:
            return False
        who, other = pairs[0]
        relation = self.rng.pick(RELATIONS)
        self.add_words(RELATION, who, who, other, relation)
        self.related.add(who)
        self.context.facts.append(Fact(None, who, other, self.document, relation=relation))
        self.last, self.is_named_here = other, True
        return True

    def add_words(self, statement, who, shown, value, relation=""):
        for token in statement:
            if token == " WHO":
                is_pronoun = shown != who
                self.words.append(Word(" " + shown, who if is_pronoun else "", self.place))
            elif token == " VALUE":
                self.words.append(Word(" " + value, who, self.place))
            elif token == " RELATION":
                self.words.append(Word(" " + relation))
            else:
                self.words.append(Word(token))


def make_context(rng, shape, is_training):
    return _Writer(rng, shape, is_training).context


_ANSWER = (Word("\n"), Word("Answer"), Word(":"))


def _question(middle, before_answer=()):
    return (Word("Question"), Word(":"), *middle, *before_answer, *_ANSWER)


def _fill(template, who, relation=""):
    """The template's words; `who` is one or more tokens."""
    words = []
    for token in template:
        if token == " WHO":
            words += [Word(part) for part in who]
        else:
            words.append(Word(" " + relation if token == " RELATION" else token))
    return words


def ask_directly(rng, context, fact, task="single_hop"):
    who = (" " + fact.who,)
    if fact.kind:
        words = _fill(fact.kind.question, who)
    else:
        words = _fill(RELATION_QUESTION, who, fact.relation)
    return Question(task, _question(words), fact.value, fact.who, fact.who, fact.value, fact)


def ask_over_two(rng, context, link, fact, task="two_hop"):
    """`link` says that fact.who is the boss (or ...) of link.who."""
    who = (" the", " " + link.relation, " of", " " + link.who)
    words = _fill(fact.kind.question, who)
    return Question(task, _question(words), fact.value, link.who, fact.who, fact.value, fact)


def ask_for_passage(rng, context, fact):
    who = (" " + fact.who,)
    number = context.numbers[fact.document]
    middle = [Word(" which"), Word(" passage"), Word(" says")]
    if not fact.kind:
        middle += _fill(RELATION_CLAUSE, who, fact.relation)
    elif rng.chance(0.5):
        middle += _fill(fact.kind.clause, who)
    else:  # that Ann lives in Alden
        statement = _fill(fact.kind.statements[0][:-1], who)
        middle += [Word(" that"), *statement[:-1], Word(" " + fact.value)]
    words = _question((*middle, Word("?")))
    return Question("passage_retrieval", words, number, fact.who, fact.who, number, fact)


def ask_by_choice(rng, context, fact):
    """The right value among four of its kind; the others are of this context as far as it goes."""
    others = [one.value for one in context.facts if one.kind is fact.kind and one is not fact]
    others = rng.shuffled(others)[: len(LETTERS) - 1]
    if len(others) < len(LETTERS) - 1:
        stated = {fact.value, *others}
        unsaid = [value for value in fact.kind.values if value not in stated]
        others += rng.sample(unsaid, len(LETTERS) - 1 - len(others))
    values = rng.shuffled([fact.value, *others])
    answer = LETTERS[values.index(fact.value)]
    listed = [Word("\n"), Word("Choices"), Word(":")]
    for letter, value in zip(LETTERS, values):
        listed += [Word(" " + letter), Word(" " + value, place=letter), Word(",")]
    words = _question(_fill(fact.kind.question, (" " + fact.who,)), listed[:-1])
    return Question("choice", words, answer, fact.who, fact.who, fact.value, fact, tuple(LETTERS))


def questions_of(rng, context):
    """{task: [function that makes a question]}, the facts in random order. Two-hop questions are
    split: in "two_hop-name" both passages name the person in the middle, in "two_hop-reference" the
    second one takes it from the passage before. "reference" asks directly for a fact that crosses
    a border."""
    facts = rng.shuffled(context.facts)
    links = {}
    for fact in facts:
        if not fact.kind:
            links.setdefault(fact.value, []).append(fact)
    makers = {
        task: []
        for task in (
            "single_hop",
            "two_hop-name",
            "two_hop-reference",
            "reference",
            "passage_retrieval",
            "choice",
        )
    }

    def add(task, ask, *arguments):
        makers[task].append(lambda: ask(rng, context, *arguments))

    for fact in facts:
        if fact.crosses:
            add("reference", ask_directly, fact, "reference")
        else:
            add("single_hop", ask_directly, fact)
            add("passage_retrieval", ask_for_passage, fact)
            if fact.kind:
                add("choice", ask_by_choice, fact)
        for link in links.get(fact.who, ()) if fact.kind else ():
            if link.document != fact.document:
                task = "two_hop-reference" if fact.crosses else "two_hop-name"
                add(task, ask_over_two, link, fact, task)
    return makers


def vocabulary():
    """Every word that a text can hold, each with the space before it, in a fixed order."""
    words = {"Passage", "Question", "Answer", "Choices"}
    templates = [RELATION, RELATION_QUESTION, RELATION_CLAUSE]
    for kind in KINDS:
        templates += [*kind.statements, kind.question, kind.clause]
        words.update(" " + value for value in kind.values)
    for template in templates:
        words.update(token for token in template if len(token) > 1)
    words -= {" WHO", " VALUE", " RELATION"}
    words.update(" " + word for word in (*NAMES, *RELATIONS, *NUMBERS, *LETTERS, "He", "She"))
    words.update(" " + word for word in "the of which passage says that".split())
    return sorted(words)
