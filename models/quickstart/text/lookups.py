"""Lists of facts made on the spot and questions about them: the text that teaches the model to use
its context.

A book of facts is a list of (sentence, questions), where each question is (question, short answer,
full answer). The answers cannot be known without the list, so they are also the measure of whether
a cached context is intact.
"""

from .grammar import write
from .words import COLOURS, CONTAINERS, DAYS, NAMES, PLACES, THINGS, TOWNS


def where_things_are(rng, count):
    """The red key is in box 4."""
    few_containers = rng.sample(CONTAINERS, rng.between(1, 3))
    items = rng.sample(
        [(colour, thing) for colour in COLOURS for thing in rng.sample(THINGS, 8)], count
    )
    facts = []
    for colour, thing in items:
        spot = f"{rng.pick(few_containers)} {rng.between(1, 20)}"
        facts.append(
            (
                f"The {colour} {thing} is in {spot}.",
                [(f"where is the {colour} {thing}?", spot, f"The {colour} {thing} is in {spot}.")],
            )
        )
    return facts


def who_has_what(rng, count):
    """Mara has the blue lamp."""
    facts = []
    for name, thing in zip(rng.sample(NAMES, count), rng.sample(THINGS, count)):
        item = f"{rng.pick(COLOURS)} {thing}"
        facts.append(
            (
                f"{name} has the {item}.",
                [
                    (f"who has the {item}?", name, f"{name} has the {item}."),
                    (f"what does {name} have?", f"the {item}", f"{name} has the {item}."),
                ],
            )
        )
    return facts


def who_lives_where(rng, count):
    """Mara lives in Alden and works at the harbour."""
    facts = []
    for name in rng.sample(NAMES, count):
        town, at = rng.pick(TOWNS), rng.pick(PLACES).at
        facts.append(
            (
                f"{name} lives in {town} and works {at}.",
                [
                    (f"where does {name} live?", f"in {town}", f"{name} lives in {town}."),
                    (f"where does {name} work?", at, f"{name} works {at}."),
                ],
            )
        )
    return facts


def prices(rng, count):
    """A loaf costs 4 coins."""
    goods = {one for place in PLACES for one, _ in place.goods}
    facts = []
    for one in rng.sample(sorted(goods), count):
        price = rng.between(2, 30)
        fact = write(rng, f"A {one} costs {price} coins.")
        question = write(rng, f"How much is a {one}?")
        facts.append((fact, [("h" + question[1:], f"{price} coins", fact)]))
    return facts


def timetable(rng, count):
    """The boat to Alden leaves at 7 from gate 3."""
    kind, stop = rng.pick((("boat", "pier"), ("train", "platform"), ("coach", "gate")))
    facts = []
    for town in rng.sample(TOWNS, count):
        hour, number = rng.between(1, 12), rng.between(1, 9)
        facts.append(
            (
                f"The {kind} to {town} leaves at {hour} from {stop} {number}.",
                [
                    (
                        f"when does the {kind} to {town} leave?",
                        f"at {hour}",
                        f"The {kind} to {town} leaves at {hour}.",
                    ),
                    (
                        f"from where does the {kind} to {town} leave?",
                        f"{stop} {number}",
                        f"The {kind} to {town} leaves from {stop} {number}.",
                    ),
                ],
            )
        )
    return facts


def codes(rng, count):
    """The code of the red door is 4417."""
    facts = []
    for colour in rng.sample(COLOURS, min(count, len(COLOURS))):
        code = "".join(str(rng.below(10)) for _ in range(rng.between(2, 4)))
        facts.append(
            (
                f"The code of the {colour} door is {code}.",
                [
                    (
                        f"what is the code of the {colour} door?",
                        code,
                        f"The code of the {colour} door is {code}.",
                    )
                ],
            )
        )
    return facts


def duties(rng, count):
    """On Monday Mara has to mend the nets."""
    tasks = [do for place in PLACES for do, _, _ in place.tasks]
    facts = []
    for day, name, do in zip(rng.shuffled(DAYS), rng.sample(NAMES, 7), rng.sample(tasks, 7)):
        facts.append(
            (
                f"On {day} {name} has to {do}.",
                [
                    (f"who works on {day}?", name, f"{name} works on {day}."),
                    (f"what does {name} have to do?", do, f"{name} has to {do} on {day}."),
                    (f"on which day does {name} work?", f"on {day}", f"{name} works on {day}."),
                ],
            )
        )
    return facts[:count]


BOOKS = (
    (where_things_are, 5),
    (who_has_what, 3),
    (who_lives_where, 2),
    (prices, 2),
    (timetable, 2),
    (codes, 2),
    (duties, 2),
)


def book(rng, first=2, last=10):
    """Facts of one kind, or now and then of two kinds, shuffled together."""
    facts = rng.weighted(BOOKS)(rng, rng.between(first, last))
    if rng.chance(0.25):
        facts = rng.shuffled(facts + rng.weighted(BOOKS)(rng, rng.between(2, 5)))
    return facts


def questions(rng, facts, count):
    """`count` different facts, one question each (or as many as there are)."""
    return [rng.pick(asked) for _, asked in rng.sample(facts, min(count, len(facts)))]


def document(rng, first=2, last=10, most_questions=8):
    facts = book(rng, first, last)
    header = rng.pick(("", "", "Facts: ", "List: ", "Notes: "))
    between = rng.pick((" ", " ", "\n"))
    text = header + between.join(sentence for sentence, _ in facts)
    style = rng.weighted(((0, 6), (1, 3), (2, 2)))
    is_capital = rng.chance(0.4)
    lines = []
    for question, short, full in questions(rng, facts, rng.between(2, most_questions)):
        question = question[0].upper() + question[1:] if is_capital else question
        if style == 0:
            lines.append(
                rng.pick(
                    (
                        f"Question: {question}\nAnswer: {short}",
                        f"Question: {question} Answer: {short}",
                    )
                )
            )
        elif style == 1:
            lines.append(f"Q: {question}\nA: {short}")
        else:
            lines.append(f"User: {question[0].upper()}{question[1:]}\nAssistant: {full}")
    return text + "\n" + "\n".join(lines)


def short_document(rng):
    """Few facts and all of them asked for, so that looking back pays from the first steps on."""
    return document(rng, first=1, last=4, most_questions=5)


def exam(rng):
    """One held-out lookup of the plainest form: (prompt, answer)."""
    facts = where_things_are(rng, rng.between(4, 10))
    question, short, _ = rng.pick(facts)[1][0]
    return " ".join(sentence for sentence, _ in facts) + f"\nQuestion: {question}\nAnswer:", short
