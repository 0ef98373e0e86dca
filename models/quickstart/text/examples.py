"""Worked examples: small sums, word pairs and few-shot lists in which the rule has to be read off
the examples."""

from .grammar import in_words, write
from .words import (
    COLOURS,
    DAYS,
    KINDS,
    MONTHS,
    NAMES,
    OPPOSITES,
    PAST,
    PLACES,
    PLURALS,
    THINGS,
)


def sum_line(rng):
    kind = rng.below(3)
    if kind == 0:
        a, b = rng.between(0, 20), rng.between(0, 20)
        return f"{a} + {b} =", str(a + b)
    if kind == 1:
        a = rng.between(1, 20)
        b = rng.between(0, a)
        return f"{a} - {b} =", str(a - b)
    a, b = rng.between(1, 10), rng.between(1, 10)
    return f"{a} x {b} =", str(a * b)


def word_problem(rng):
    """(problem, answer as a sentence)"""
    name, (_, many) = rng.pick(NAMES), rng.pick(rng.pick(PLACES).goods)
    a = rng.between(3, 15)
    b = rng.between(1, a - 1) if rng.chance(0.5) else -rng.between(1, 10)
    change = f"gives away {b}" if b > 0 else f"finds {-b} more"
    sign = "-" if b > 0 else "+"
    return (
        f"{name} has {a} {many} and {change}. How many {many} does {name} have now?",
        f"{a} {sign} {abs(b)} = {a - b}, so {name} has {a - b} {many}.",
    )


def word_pair(rng):
    """(name of the relation, [(input, output)])"""
    kind = rng.below(6)
    if kind == 0:
        return "opposite", OPPOSITES
    if kind == 1:
        return "plural", PLURALS
    if kind == 2:
        return "past", PAST
    if kind == 3:
        return "kind", [(word, name) for name, words in KINDS.items() for word in words]
    if kind == 4:
        return "next day", [(day, DAYS[(index + 1) % 7]) for index, day in enumerate(DAYS)]
    return "next month", [(month, MONTHS[(index + 1) % 12]) for index, month in enumerate(MONTHS)]


def general_question(rng):
    """(question, answer) that needs no list: the small facts of this world."""
    relation, pairs = word_pair(rng)
    word, answer = rng.pick(pairs)
    question = {
        "opposite": f"What is the opposite of {word}?",
        "plural": f"What is the plural of {word}?",
        "past": f"What is the past form of {word}?",
        "kind": f"What kind of thing is {word}?",
        "next day": f"Which day comes after {word}?",
        "next month": f"Which month comes after {word}?",
    }[relation]
    return question, answer[0].upper() + answer[1:] + "."


def repetition(rng):
    """A list of things without any order, said twice: nothing but looking back can predict it."""
    words = []
    for _ in range(rng.between(4, 20)):
        kind = rng.below(4)
        if kind == 0:
            words.append(rng.pick(NAMES))
        elif kind == 1:
            words.append(str(rng.between(1, 99)))
        else:
            words.append(
                f"{rng.pick(COLOURS)} {rng.pick(THINGS)}" if kind == 2 else rng.pick(THINGS)
            )
    said = ", ".join(words)
    return rng.pick(
        (
            f"Repeat: {said}.\nAnswer: {said}.",
            f"User: Please repeat: {said}.\nAssistant: {said}.",
            f"List: {said}\nCopy: {said}",
        )
    )


def document(rng):
    kind = rng.below(4)
    if kind == 0:
        return "\n".join(" ".join(sum_line(rng)) for _ in range(rng.between(4, 12)))
    if kind == 1:
        return "\n".join(
            "Question: {}\nAnswer: {}".format(*word_problem(rng)) for _ in range(rng.between(1, 4))
        )
    relation, pairs = word_pair(rng)
    chosen = rng.sample(pairs, min(len(pairs), rng.between(4, 10)))
    left, right = rng.pick((("Input", "Output"), ("Word", relation[0].upper() + relation[1:])))
    if kind == 2:
        return "\n".join(f"{left}: {word}\n{right}: {answer}" for word, answer in chosen)
    return (
        "Examples of: "
        + relation
        + "\n"
        + "\n".join(f"{word} -> {answer}" for word, answer in chosen)
    )
