"""Lays contexts and their questions out as rows of token ids.

A row holds one context and many questions. Each question sees the context and itself, and its
positions go on where the context ends, so every question is computed exactly as if it stood alone
behind the passages (evaluate.py checks it); the passages are computed once for all of them. Within
the passages attention is plainly causal: no token is ever kept from an earlier one.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from decoder import places
from make_tokenizer import BOS
from world import Rng, Shape, make_context, questions_of

NONE = -1  # no label here
PAD, CONTEXT = -1, 0  # blocks of a row; questions count from 1

# Shares of the questions of a row.
TASK_SHARES = {
    "single_hop": 3,
    "reference": 1,
    "two_hop-name": 4,
    "two_hop-reference": 2,
    "passage_retrieval": 4,
    "choice": 4,
}
TASKS = tuple(TASK_SHARES)


@dataclass(frozen=True)
class Level:
    """A step of the curriculum: contexts of this shape and so many questions each, in batches of at
    most so many tokens (early on many small steps are worth more than few large ones), until
    this share of the answers is right, in the mean of the tasks."""

    shape: Shape
    questions: int
    batch_tokens: int
    enough: float


LEVELS = (
    Level(Shape((2, 3), (2, 4)), 10, 2048, 0.8),
    Level(Shape((3, 4), (3, 5)), 12, 3072, 0.85),
    Level(Shape((3, 6), (3, 6)), 14, 4096, 0.9),
    Level(Shape((3, 8), (3, 8)), 16, 4096, 1.0),
)


# The labels of Row that only the place before an answer has.
AT_ANSWERS = ("target", "bridge", "value", "task", "link_at", "fact_at", "option_at")


@dataclass
class Row:
    """Lists of one length. `subject`, `place`, `bridge` and `value` are labels of the auxiliary
    heads (see train.py), token ids or NONE; `target` is the next token where it belongs to an
    answer. Where an answer begins, `task` numbers TASKS, and `link_at`, `fact_at` and `option_at`
    are the places in the row where the link of a two-hop question, the value that is asked for and
    the right one among the choices are said."""

    ids: list = field(default_factory=list)
    positions: list = field(default_factory=list)
    block: list = field(default_factory=list)
    target: list = field(default_factory=list)
    subject: list = field(default_factory=list)
    place: list = field(default_factory=list)
    bridge: list = field(default_factory=list)
    value: list = field(default_factory=list)
    task: list = field(default_factory=list)
    link_at: list = field(default_factory=list)
    fact_at: list = field(default_factory=list)
    option_at: list = field(default_factory=list)

    def add(self, id, position, block, subject=NONE, place=NONE):
        self.ids.append(id)
        self.positions.append(position)
        self.block.append(block)
        self.subject.append(subject)
        self.place.append(place)
        for name in AT_ANSWERS:
            getattr(self, name).append(NONE)


def make_row(vocabulary, context, questions, with_bos):
    ids, row = vocabulary.ids, Row()

    def add_word(word, position, block):
        subject = ids[" " + word.subject] if word.subject else NONE
        place = ids[" " + word.place] if word.place else NONE
        row.add(ids[word.text], position, block, subject, place)

    said_at = {}  # (who, token): where the token is said of somebody
    if with_bos:
        row.add(BOS, 0, CONTEXT)
    for document in context.documents:
        for word in document:
            said_at[word.subject, word.text] = len(row.ids)
            add_word(word, len(row.ids), CONTEXT)
    first = len(row.ids)
    for number, question in enumerate(questions, start=1):
        position, option_at = first, NONE
        for word in question.words:
            if word.place and word.text == " " + question.value:
                option_at = len(row.ids)
            add_word(word, position, number)
            position += 1
        answer = ids[" " + question.answer]
        row.target[-1] = answer
        row.subject[-1] = ids[" " + question.subject]
        row.bridge[-1] = ids[" " + question.bridge]
        row.value[-1] = ids[" " + question.value]
        row.task[-1] = TASKS.index(question.task)
        row.link_at[-1] = said_at.get((question.subject, " " + question.bridge), NONE)
        row.fact_at[-1] = said_at[question.fact.who, " " + question.fact.value]
        row.option_at[-1] = option_at
        row.add(answer, position, number)
        row.target[-1] = ids["\n"]
    return row


def choose_questions(rng, context, count):
    """Up to `count` questions, each task by its share as long as it has facts left."""
    makers = questions_of(rng, context)
    questions = []
    while len(questions) < count:
        open_tasks = [(task, share) for task, share in TASK_SHARES.items() if makers[task]]
        if not open_tasks:
            break
        questions.append(makers[rng.weighted(open_tasks)].pop()())
    return questions


def training_row(vocabulary, seed, index, level):
    """Every second row begins with <s>, so that a model works with it and without."""
    rng = Rng(seed, f"train at level {LEVELS.index(level)}", index)
    context = make_context(rng, level.shape, is_training=True)
    questions = choose_questions(rng, context, level.questions)
    return make_row(vocabulary, context, questions, with_bos=rng.chance(0.5))


def training_rows(vocabulary, seed, first_index, level):
    """Rows from `first_index` on, as many as the level's batch holds with their padding."""
    rows, longest = [], 0
    while True:
        row = training_row(vocabulary, seed, first_index + len(rows), level)
        longest = max(longest, len(row.ids))
        if rows and longest * (len(rows) + 1) > level.batch_tokens:
            return rows
        rows.append(row)


@dataclass
class Batch:
    """Tensors [rows, tokens] of the fields of Row; padding has block PAD and no labels."""

    ids: torch.Tensor
    positions: torch.Tensor
    block: torch.Tensor
    labels: dict

    def places(self, config):
        return places(config, self.positions, allowed(self.block))


def allowed(block):
    """[rows, tokens, tokens]: causal, and a question sees the context and itself."""
    tokens = block.shape[1]
    of_row, of_column = block[:, :, None], block[:, None, :]
    seen = (of_column == of_row) | (of_column == CONTEXT)
    causal = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    # Padding sees itself alone, since a row of the softmax must not be empty.
    return (seen & causal & (of_row != PAD)) | torch.eye(tokens, dtype=torch.bool)


def make_batch(rows):
    longest = max(len(row.ids) for row in rows)

    def padded(name, filler):
        out = np.full((len(rows), longest), filler, dtype=np.int64)
        for index, row in enumerate(rows):
            values = getattr(row, name)
            out[index, : len(values)] = values
        return torch.from_numpy(out)

    labels = {
        name: padded(name, NONE)
        for name in ("subject", "place", *AT_ANSWERS)
    }
    return Batch(padded("ids", 0), padded("positions", 0), padded("block", PAD), labels)
