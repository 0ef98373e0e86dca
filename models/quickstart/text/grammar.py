"""Seeded choice and templates: the few lines that every generator of text here is built on."""

import random
import re

_INNERMOST_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU]|honest)")
_SENTENCE_START = re.compile(r"(^|[.!?] |\.\" )([a-z])")  # not after ?" : that sentence goes on


class Rng:
    """Draws that depend only on (seed, stream, index), so one document can be remade without the
    others.

    Everything comes from random(), the one method whose values Python promises not to change.
    """

    def __init__(self, seed, stream, index):
        self._random = random.Random(f"{seed}/{stream}/{index}").random

    def chance(self, probability):
        return self._random() < probability

    def below(self, end):
        return int(self._random() * end)

    def between(self, first, last):
        """An integer in [first, last], both included."""
        return first + self.below(last - first + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def sample(self, items, count):
        """`count` different items in random order."""
        pool = list(items)
        out = []
        for _ in range(count):
            out.append(pool.pop(self.below(len(pool))))
        return out

    def shuffled(self, items):
        return self.sample(items, len(items))

    def weighted(self, pairs):
        """One of [(item, weight)]."""
        point = self._random() * sum(weight for _, weight in pairs)
        for item, weight in pairs:
            point -= weight
            if point < 0:
                return item
        return pairs[-1][0]


def with_articles(text):
    return _ARTICLE.sub(r"\1n ", text)


def write(rng, template, **slots):
    """Fills {slots}, then chooses among [one|other|], nested as needed; corrects a/an and capital
    letters.

    >>> write(Rng(0, "doc", 0), "{who} saw a owl. it left.", who="Mara")
    'Mara saw an owl. It left.'
    """
    text = template.format_map(slots)
    while True:
        chosen = _INNERMOST_CHOICE.sub(lambda match: rng.pick(match.group(1).split("|")), text)
        if chosen == text:
            break
        text = chosen
    return _SENTENCE_START.sub(
        lambda match: match.group(1) + match.group(2).upper(), with_articles(text)
    )


def listing(items, word="and"):
    """a, b and c"""
    items = list(items)
    if len(items) == 1:
        return items[0]
    return ", ".join(items[:-1]) + f" {word} " + items[-1]


_NUMBERS = (
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
).split()


def in_words(number):
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
