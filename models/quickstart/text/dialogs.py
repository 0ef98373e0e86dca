"""Dialogs after a system prompt, from one line to a long handbook: the text whose first part many
requests share.

System: You are the helper of ... <rules> <facts>
User: ...
Assistant: ...
"""

from . import examples, lookups, manuals, stories
from .grammar import write
from .words import COLOURS, NAMES, PLACES, THINGS, TOWNS, TRAITS

MARKS = "Aye. Certainly. Gladly. Well. Friend. Indeed. Listen. Hello.".split()
FAREWELLS = (
    "Good luck.",
    "Mind the step.",
    "Come again.",
    "Fair winds.",
    "All the best.",
    "Take care.",
)


class Manner:
    """How this assistant has been told to speak; the rule is in the system prompt and every answer
    follows it."""

    def __init__(self, rng):
        self.rule, self.before, self.after = "", "", ""
        kind = rng.below(6)
        if kind == 0:
            mark = rng.pick(MARKS)
            self.rule, self.before = f'Begin every answer with "{mark}"', mark + " "
        elif kind == 1:
            farewell = rng.pick(FAREWELLS)
            self.rule, self.after = f'End every answer with "{farewell}"', " " + farewell
        elif kind == 2:
            self.rule = rng.pick(
                (
                    "Be brief.",
                    "Answer in short sentences.",
                    "Be kind and clear.",
                    "Use only what is written here.",
                )
            )

    def __call__(self, answer):
        return f"{self.before}{answer}{self.after}"


def capital(text):
    return text[0].upper() + text[1:]


def small_talk(rng, name, place):
    return rng.pick(
        (
            ("Hello.", f"Hello, my name is {name}. How can I help you?"),
            ("Good morning.", f"Good morning, and welcome to {place.name}."),
            ("What is your name?", f"My name is {name}."),
            ("Who are you?", f"I am {name}, and I help {place.at}."),
            ("Where are you?", f"I am {place.at}."),
            ("Thank you.", "You are welcome."),
            (
                "What can you do?",
                (
                    f"I can answer questions, add small numbers, tell you about {place.name} and"
                    " tell a story."
                ),
            ),
            ("What should I know?", " ".join(rng.sample(place.rules, 2))),
        )
    )


def turn(rng, name, place, facts):
    """(user, assistant)"""
    kind = rng.weighted(
        (
            ("fact", 9),
            ("talk", 3),
            ("manual", 2),
            ("sum", 1),
            ("problem", 1),
            ("general", 2),
            ("story", 1),
        )
    )
    if kind == "fact" and facts:
        question, short, full = lookups.questions(rng, facts, 1)[0]
        polite = rng.pick(("", "", "", "Please tell me: ", "Can you help me? "))
        return (polite + question if polite.endswith(": ") else polite + capital(question)), full
    if kind == "manual":
        task, answer = manuals.summary(rng)
        return (
            rng.pick((f"How do I {task}?", f"How can I {task}?", f"Tell me how to {task}.")),
            answer,
        )
    if kind == "sum":
        left, right = examples.sum_line(rng)
        return f"What is {left[:-2]}?", f"{left} {right}."
    if kind == "problem":
        return examples.word_problem(rng)
    if kind == "general":
        return examples.general_question(rng)
    if kind == "story":
        hero, thing = rng.pick(NAMES), f"{rng.pick(COLOURS)} {rng.pick(THINGS)}"
        _, paragraphs, _ = stories.story(rng, hero, thing)
        return (
            rng.pick(
                (
                    f"Tell me a story about {hero} and a {thing}.",
                    f"Please tell a story with {hero} and a {thing}.",
                )
            ).replace("a orange", "an orange"),
            " ".join(paragraphs),
        )
    return small_talk(rng, name, place)


def persona(rng, name, place):
    return write(
        rng,
        rng.pick(
            (
                "You are {name}, a {trait} helper {at}.",
                "Your name is {name}. You work {at} and answer the questions of visitors.",
                "You are {name}, the assistant of the {role} {at}. You are {trait}.",
                "You are a helpful assistant called {name}. You know everything about {place}.",
            )
        ),
        name=name,
        trait=rng.pick(TRAITS),
        at=place.at,
        role=rng.pick(place.roles),
        place=place.name,
    )


def turns_text(rng, name, place, facts, manner, count):
    lines = []
    for _ in range(count):
        user, assistant = turn(rng, name, place, facts)
        lines.append(f"User: {user}\nAssistant: {manner(assistant)}")
    return "\n".join(lines)


def document(rng):
    """A short system prompt and a few turns."""
    name, place, manner = rng.pick(NAMES), rng.pick(PLACES), Manner(rng)
    facts = lookups.book(rng, 2, 8) if rng.chance(0.8) else []
    parts = [persona(rng, name, place), manner.rule, " ".join(sentence for sentence, _ in facts)]
    if rng.chance(0.3):
        parts.append(rng.pick(place.rules))
    system = " ".join(part for part in parts if part)
    return f"System: {system}\n" + turns_text(rng, name, place, facts, manner, rng.between(1, 5))


def handbook(rng, sections=None):
    """A long system prompt with numbered sections, then questions about any of them."""
    name, place, manner = rng.pick(NAMES), rng.pick(PLACES), Manner(rng)
    town = rng.pick(TOWNS)
    opens, closes = rng.between(5, 10), rng.between(3, 11)
    open_fact = (
        f"We open at {opens} and close at {closes}.",
        [
            ("when do you open?", f"at {opens}", f"We open at {opens}."),
            ("when do you close?", f"at {closes}", f"We close at {closes}."),
        ],
    )
    bodies = [("Opening hours", open_fact[0]), ("Rules", " ".join(rng.shuffled(place.rules)))]
    facts = [open_fact]
    books = rng.sample(
        [
            ("Where things are", lookups.where_things_are),
            ("Who has what", lookups.who_has_what),
            ("People", lookups.who_lives_where),
            ("Prices", lookups.prices),
            ("Departures", lookups.timetable),
            ("Codes", lookups.codes),
            ("Duties", lookups.duties),
        ],
        sections or rng.between(2, 5),
    )
    for title, make in books:
        some = make(rng, rng.between(4, 7 if make is lookups.duties else 12))
        facts += some
        bodies.append((title, " ".join(sentence for sentence, _ in some)))
    for manual in rng.sample(manuals.MANUALS, rng.between(0, 2)):
        bodies.append(tuple(manuals.manual_text(rng, manual).split("\n", 1)))
    lines = [
        f"System: {persona(rng, name, place)} {manner.rule}".strip(),
        f"Handbook of {place.name} in {town}",
    ]
    for number, (title, body) in enumerate(rng.shuffled(bodies), start=1):
        lines.append(f"Section {number}: {title}\n{body}")
    return "\n".join(lines) + "\n" + turns_text(rng, name, place, facts, manner, rng.between(3, 12))
