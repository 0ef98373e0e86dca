"""Short stories: a place, two or three people, one of a dozen plots, and questions that the story
answers.

Each plot returns (title, paragraphs, questions), where questions are (question, short answer) pairs
whose answers stand in the text. A plot keeps its facts (who, what, where, how many) the same from
the first line to the last.
"""

from .grammar import in_words, with_articles, write
from .words import (
    ANIMALS,
    COLOURS,
    MADE,
    NAMES,
    OUTSIDE,
    PLACES,
    SPOTS,
    THINGS,
    TOWNS,
    TRAITS,
    WEATHER,
    pronouns,
)


class Scene:
    """The words of one story; `say` writes a template with them."""

    def __init__(self, rng, hero=None, thing=None):
        self.rng = rng
        self.place = rng.pick(PLACES)
        names = rng.sample([name for name in NAMES if name != hero], 3)
        x, y, z = [hero] + names[:2] if hero else names
        do, did, doing = rng.pick(self.place.tasks)
        other_do, other_did, other_doing = rng.pick(
            [task for task in self.place.tasks if task[0] != do]
        )
        spots = rng.sample(SPOTS, 3)
        any_thing = rng.pick(MADE) if rng.chance(0.3) else f"{rng.pick(COLOURS)} {rng.pick(THINGS)}"
        self.words = {
            "x": x,
            "y": y,
            "z": z,
            "place": self.place.name,
            "at": self.place.at,
            "role": rng.pick(self.place.roles),
            "trait": rng.pick(TRAITS),
            "weather": rng.pick(WEATHER),
            "do": do,
            "did": did,
            "doing": doing,
            "other_do": other_do,
            "other_did": other_did,
            "other_doing": other_doing,
            "thing": thing or any_thing,
            "town": rng.pick(TOWNS),
            "animal": rng.pick(ANIMALS),
            "spot": spots[0],
            "wrong_spot": spots[1],
            "third_spot": spots[2],
        }
        first, second = rng.sample(self.place.senses, 2)
        self.words["sense"], self.words["other_sense"] = first, second
        for letter in "xyz":
            self.words[f"{letter}_he"], self.words[f"{letter}_him"], self.words[f"{letter}_his"] = (
                pronouns(self.words[letter])
            )

    def say(self, template, **more):
        return write(self.rng, template, **self.words, **more)

    def fact(self, template):
        """An answer: no choices, no capital letter."""
        return with_articles(template.format_map(self.words))

    def opening(self):
        return self.say(
            self.rng.pick(
                (
                    (
                        "{x} was a {trait} {role} who worked {at}. [The morning was {weather}|The"
                        " day was {weather}], and {sense}."
                    ),
                    (
                        "[One morning|One evening|One day] {x}, the {role}, was {doing} {at}."
                        " {sense}, and {other_sense}."
                    ),
                    (
                        "It was {weather} {at}. {sense}. {x}, a {trait} {role}, [had come early|was"
                        " already there] to {do}."
                    ),
                    (
                        "[Long ago|Some years ago|Last winter|Last spring], a {trait} {role} called"
                        " {x} worked {at}. [Every day|Each morning] {x_he} {did}, and {sense}."
                    ),
                    (
                        "{sense}. The day was {weather}, and {x} the {role} had [only just"
                        " begun|not yet begun] to {do}."
                    ),
                )
            )
        )

    def closing(self):
        return self.say(
            self.rng.pick(
                (
                    (
                        "[That night|That evening] {sense}, and {x} [slept well|smiled in the"
                        " dark|was glad]."
                    ),
                    "{x} went back to {doing}, and {y} stayed to help.",
                    (
                        '"[Good work|Well done]," said {y}. {x} only [nodded|smiled] and began to'
                        " {do}."
                    ),
                    "After that, {x} and {y} [often|always] drank their tea together {at}.",
                    "From that day on, {x} was still {trait}, but a little wiser.",
                    "And if you go to {place} today, people will still tell you about {x} and {y}.",
                    "{other_sense}. It had been a good day.",
                )
            )
        )


def lost(scene):
    say = scene.say
    paragraphs = [
        scene.opening()
        + " "
        + say(
            'But the {thing} was gone. "[I had it yesterday|I left it right here|It cannot have '
            'walked away]," said {x}. [Without the {thing}, {x_he} could not {do}.|]'
        ),
        say(
            '{x} asked {y}. "Have you seen my {thing}?" {y} [thought for a moment|scratched {y_his}'
            ' head|put down a cup of tea]. "[No|Sadly not|Not today], but look {wrong_spot}." {x}'
            " looked {wrong_spot}, but [there was only dust|there was nothing|it was empty]."
        ),
        say(
            'Then {z} came in. "[Are you looking for the {thing}?|Is it the {thing} you want?] [I'
            ' saw it {spot}|It is {spot}|I put it {spot} so that it would not get lost]." {x}'
            " [ran|went] and looked {spot}. There it was."
        ),
        say(
            '"[Thank you|Many thanks], {z}," said {x}. [{x_he} held the {thing} tightly.|{x_he}'
            " laughed out loud.|] "
        ).strip()
        + " "
        + scene.closing(),
    ]
    return (
        say("The [lost|missing] {thing}"),
        paragraphs,
        [
            (say("what did {x} lose?"), scene.fact("the {thing}")),
            (say("where was the {thing}?"), scene.fact("{spot}")),
            (say("who knew where the {thing} was?"), scene.fact("{z}")),
            (say("where did {x} look first?"), scene.fact("{wrong_spot}")),
        ],
    )


def broken(scene):
    say = scene.say
    what, failed, tried, wrong, helped = scene.rng.pick(scene.place.faults)
    words = {"what": what, "failed": failed, "tried": tried, "wrong": wrong, "helped": helped}
    paragraphs = [
        scene.opening()
        + " "
        + say("[But that day|Then, without warning,|Just before noon] {what} {failed}.", **words),
        say(
            '{x} {tried}, but [it was no use|it did not help|nothing changed]. "[Force will not'
            ' mend it|Do not be angry with it|Let us look before we act]," said {y}, who had been'
            ' {other_doing}. "[First we must know why.|Every fault has a reason.|Look closely.]"',
            **words,
        ),
        say(
            "Together they looked. [After a while|After an hour|Soon] {y} found the reason:"
            " {wrong}. [So they|{x} nodded, and they] {helped}. [Then|At once] {what} worked [as"
            " well as before|better than ever|again].",
            **words,
        ),
        scene.closing(),
    ]
    return (
        "What was wrong",
        paragraphs,
        [
            (say("what {failed}?", **words), what),
            (say("who found the reason?"), scene.fact("{y}")),
            (say("what was the reason?"), wrong),
        ],
    )


def storm(scene):
    say = scene.say
    one, many = scene.rng.pick(scene.place.goods)
    total = scene.rng.between(4, 12)
    saved = scene.rng.between(2, total - 2)
    words = {
        "many": many,
        "total": in_words(total),
        "saved": in_words(saved),
        "rest": in_words(total - saved),
        "outside": scene.rng.pick(OUTSIDE),
    }
    paragraphs = [
        scene.opening()
        + " "
        + say(
            '[In the west|Over the hills|Far away] the sky turned [black|yellow|dark]. "A storm is '
            'coming," said {y}.'
        ),
        say(
            "There were {total} {many} outside. {x} [carried|dragged] {saved} of them in before the"
            " rain began. Then the wind took the door, and the other {rest} had to stay out in the"
            " dark.",
            **words,
        ),
        say(
            "All night {x} and {y} sat close together and listened. {x} held the {thing}. [The roof"
            ' shook.|The windows rattled.|Water came under the door.] "[It will pass|No storm lasts'
            ' for ever|Morning always comes]," said {y}.'
        ),
        say(
            "In the morning the sky was clear. They went out and found the {rest} {many} {outside},"
            ' wet but whole. {x} laughed. "So we still have {total} {many}."',
            **words,
        )
        + " "
        + scene.closing(),
    ]
    return (
        "The storm",
        paragraphs,
        [
            (say("how many {many} did {x} bring in?", **words), words["saved"]),
            (say("how many {many} stayed out?", **words), words["rest"]),
            (say("who said that a storm was coming?"), scene.fact("{y}")),
        ],
    )


def apprentice(scene):
    say = scene.say
    tries = in_words(scene.rng.between(2, 9))
    paragraphs = [
        say(
            "{x} wanted to learn how to {do}. So {x_he} went to {place}, where {y} was the best"
            " {role} in {town}. {sense}."
        ),
        say(
            '"[Watch my hands|Watch first|Begin slowly]," said {y}. {x} watched, and then {x_he}'
            " tried. The first time was [bad|a mess|a disaster]. The second time was [worse|no"
            " better]. {x} failed {tries} times, and {x_he} threw the {thing} on the floor.",
            tries=tries,
        ),
        say(
            '{y} picked up the {thing} and gave it back. "[I failed a hundred times|I was slower'
            ' than you|My own teacher laughed at me for a year]," {y_he} said. "The secret is [to'
            ' breathe|to wait|to listen|to stop before you are tired]."'
        ),
        say(
            "So {x} [took a breath|waited|listened], and tried again. This time it was [good|almost"
            " right|right]. [A year later|By the summer|In the end] {x} could {do} as well as {y},"
            ' and when a child came to learn, {x} said: "Watch my hands."'
        ),
    ]
    return (
        "The apprentice",
        paragraphs,
        [
            (say("what did {x} want to learn?"), scene.fact("how to {do}")),
            (say("who was the teacher?"), scene.fact("{y}")),
            (say("how many times did {x} fail?"), tries),
            (say("what did {x} throw on the floor?"), scene.fact("the {thing}")),
        ],
    )


def trade(scene):
    say, rng = scene.say, scene.rng
    looks, things = rng.sample(COLOURS, 3), rng.sample(THINGS, 3)
    a, b, c = (f"{look} {thing}" for look, thing in zip(looks, things))
    words = {"a": a, "b": b, "c": c}
    paragraphs = [
        scene.opening()
        + " "
        + say("{x} had a {a}, but what {x_he} [really wanted|needed] was a {c}.", **words),
        say(
            '{y} had a {c}. "[I will trade it|You may have it|I can give it to you]," said {y},'
            ' "but only for a {b}." [{x} had no {b}.|{x} looked at the {a} and sighed.]',
            **words,
        ),
        say(
            'So {x} went to {z}, who had a {b}. "Would you take a {a} for it?" asked {x}. {z}'
            " [turned the {a} in {z_his} hands|held the {a} up to the light] and said yes. Then {x}"
            " [ran|walked] back to {y}, gave {y_him} the {b}, and took the {c}.",
            **words,
        ),
        say(
            "In the end {z} had the {a}, {y} had the {b}, and {x} had the {c}. [All three were"
            " happy.|Everyone thought they had made the best trade.]",
            **words,
        ),
    ]
    return (
        "The trade",
        paragraphs,
        [
            (say("who has the {a} in the end?", **words), scene.fact("{z}")),
            (say("who has the {b} in the end?", **words), scene.fact("{y}")),
            (say("what did {x} want?", **words), f"the {c}"),
            (say("what did {x} have at first?", **words), f"the {a}"),
        ],
    )


def letter(scene):
    say, rng = scene.say, scene.rng
    days = rng.between(2, 9)
    words = {"days": in_words(days)}
    paragraphs = [
        scene.opening()
        + " "
        + say(
            'Then a letter came from {town}. [It was from {z}.|{z} had written it.] "Dear {x}," it '
            'said, "please bring me the {thing}. I will wait [by the bridge|by the old oak|at the '
            'well]."'
        ),
        say(
            '{x} [did not wait|put on a coat|closed the door]. "Who will {do} while you are away?"'
            ' asked {y}. "You will," said {x}, and {y} [laughed|agreed].'
        ),
        say(
            "It took {days} days to walk to {town}. On the way {x} met a {animal}, [slept in a"
            " barn|crossed a cold river|lost the path and found it again], and kept the {thing}"
            ' [dry|safe|wrapped in a cloth]. {z} was there. "I knew you would come," {z_he} said.',
            **words,
        ),
        say(
            "{z} used the {thing} to [open an old chest|mend a music box|finish a great work], and"
            " gave {x} [a bag of apples|a warm coat|a song] for the way home. When {x} came back to"
            " {place}, {y} had {did} [every day|well|three times]."
        ),
    ]
    return (
        say("A letter from {town}"),
        paragraphs,
        [
            (say("where did the letter come from?"), scene.fact("{town}")),
            (say("who wrote the letter?"), scene.fact("{z}")),
            (say("what did {z} ask for?"), scene.fact("the {thing}")),
            (say("how many days did the walk take?"), words["days"]),
            (say("who stayed behind?"), scene.fact("{y}")),
        ],
    )


def animal(scene):
    say = scene.say
    paragraphs = [
        scene.opening()
        + " "
        + say("A [small|thin|lame|young] {animal} sat {spot} and looked at {x_him}."),
        say(
            '"[Go home|You cannot stay here|Shoo]," said {x}, but the {animal} [did not move|came'
            " closer|sat down again]. When {x} turned away, it took the {thing} and ran."
        ),
        say(
            "{x} and {y} followed it past {place} and down the lane. {wrong_spot} they found [three"
            " little ones|a warm nest|an older {animal} with a hurt leg]. The {animal} had [wanted"
            " company|wanted something to play with|brought it as a gift]."
        ),
        say(
            "{x} [laughed|sat down] and let the {animal} keep the {thing} [for one night|until"
            " spring|for good]. [Since then|After that], the {animal} came every [morning|evening],"
            " and {x} always had [some bread|a bit of fish|a kind word] for it."
        ),
    ]
    return (
        say("The {animal}"),
        paragraphs,
        [
            (say("which animal came to {x}?"), scene.fact("a {animal}")),
            (say("what did the {animal} take?"), scene.fact("the {thing}")),
            (say("who followed it with {x}?"), scene.fact("{y}")),
        ],
    )


def contest(scene):
    say, rng = scene.say, scene.rng
    one, many = rng.pick(scene.place.goods)
    low = rng.between(3, 14)
    high = rng.between(low + 1, 20)
    x_wins = rng.chance(0.5)
    words = {
        "many": many,
        "x_count": in_words(high if x_wins else low),
        "y_count": in_words(low if x_wins else high),
        "winner": scene.words["x" if x_wins else "y"],
        "loser": scene.words["y" if x_wins else "x"],
    }
    paragraphs = [
        scene.opening()
        + " "
        + say(
            '"I am faster than you," said {y}. "[Let us see|We shall see|Prove it]," said {x}. '
            "They agreed that {z} would count."
        ),
        say(
            "When {z} rang the bell, both began. [Sweat ran down their faces.|They did not"
            " speak.|People came to watch.] [At noon|At sunset|When the bell rang again], {x} had"
            " {x_count} {many} and {y} had {y_count}.",
            **words,
        ),
        say(
            '"{winner} wins," said {z}. {winner} took the prize, a {thing}. Then {winner}'
            ' [saw|noticed] how tired {loser} was and said, "[Next time we work together|Come, let'
            ' us eat|You will win the next one]."',
            **words,
        ),
    ]
    return (
        "The contest",
        paragraphs,
        [
            ("who won?", words["winner"]),
            ("who counted?", scene.fact("{z}")),
            ("what was the prize?", scene.fact("a {thing}")),
            (say("how many {many} did {x} have?", **words), words["x_count"]),
        ],
    )


def watch(scene):
    say = scene.say
    cause, what = scene.rng.pick(
        (
            ("a light", "a jar of glow worms"),
            ("a light", "the moon in a puddle"),
            ("a knocking", "a branch against the wall"),
            ("a knocking", "a loose shutter"),
            ("a song", "the wind in an empty bottle"),
            ("a song", "an old music box"),
            ("footsteps", "a hedgehog in the dry leaves"),
            ("footsteps", "rain dripping into a bucket"),
        )
    )
    words = {"cause": cause, "what": what}
    paragraphs = [
        scene.opening() + " " + say("That night {x} had to keep watch alone."),
        say(
            "[At midnight|Long after midnight|When all was quiet] {x} [noticed|became aware of]"
            ' {cause}. [It came from somewhere {spot}.|It seemed to come from {spot}.] "Who is'
            ' there?" {x} called. [No one answered.|There was no answer.]',
            **words,
        ),
        say(
            "{x} took the {thing} and [went slowly on|walked one step at a time]. [{x_his} heart"
            " beat fast.|{x_his} hands were cold.] Then {x_he} [saw it|understood] and laughed: it"
            " was only {what}.",
            **words,
        ),
        say(
            'In the morning {x} told {y} about it. "[Fear has big eyes|The dark makes stories|Most'
            ' ghosts are small]," said {y}. '
        )
        + scene.closing(),
    ]
    return (
        "The night watch",
        paragraphs,
        [
            (say("what did {x} take along?"), scene.fact("the {thing}")),
            ("what was it in the end?", what),
            (say("who heard about it in the morning?"), scene.fact("{y}")),
        ],
    )


def treasure(scene):
    say, rng = scene.say, scene.rng
    steps = rng.between(3, 20)
    words = {"steps": in_words(steps), "side": rng.pick(("north", "south", "east", "west"))}
    paragraphs = [
        scene.opening()
        + " "
        + say(
            '{spot} {x_he} found an old note. It said: "Go {steps} steps to the {side} and dig."',
            **words,
        ),
        say(
            '{x} showed the note to {y}. "[Nonsense|It is only a joke|Why not]," said {y}, but'
            " {y_he} came along with a [spade|lamp|shovel]. They counted {steps} steps to the"
            " {side}, and they dug until [their hands hurt|it was dark|they hit something hard].",
            **words,
        ),
        say(
            "There was a small [box|chest|tin] with a {thing} in it, and under the {thing} lay"
            ' another note: "[I was happy here|Whoever finds this, be kind|The real treasure is the'
            ' digging]. {z}."'
        ),
        say(
            "[No one remembered {z}.|Only the oldest people remembered {z}.] {x} kept the {thing},"
            " and {y} kept the note. "
        )
        + scene.closing(),
    ]
    return (
        "The old note",
        paragraphs,
        [
            ("how many steps did they go?", words["steps"]),
            ("in which direction?", words["side"]),
            ("who wrote the note?", scene.fact("{z}")),
            (say("what did {x} keep?"), scene.fact("the {thing}")),
            (say("what did {y} keep?"), "the note"),
        ],
    )


def visitor(scene):
    say = scene.say
    paragraphs = [
        scene.opening()
        + " "
        + say(
            'A stranger came to the door. ["I am {z}, from {town}," {z_he} said.|{z_he} said: "My'
            ' name is {z}, and I come from {town}."]'
        ),
        say(
            '"[What brings you here?|What can I do for you?|Are you hungry?]" asked {x}. "I am'
            ' looking for someone who can {do}," said {z}. "[In {town} no one knows how.|In {town}'
            ' we have forgotten it.]"'
        ),
        say(
            "{x} gave {z} [some soup|a chair by the fire|a cup of tea] and showed {z_him} [how to"
            " {do}|everything]. They worked until [it was dark|the lamps were lit|the bell rang]."
            " [{y} came to watch.|{y} brought bread.]"
        ),
        say(
            'When {z} left, {z_he} put a {thing} on the table. "[For your trouble|So that you'
            ' remember me|For a good teacher]." {x} still has the {thing}, and in {town} people'
            " {do} [once more|again|every spring]."
        ),
    ]
    return (
        "The visitor",
        paragraphs,
        [
            ("who came to the door?", scene.fact("{z}")),
            (say("where did {z} come from?"), scene.fact("{town}")),
            (say("what did {z} leave on the table?"), scene.fact("a {thing}")),
            (say("what did {z} want to learn?"), scene.fact("how to {do}")),
        ],
    )


def helpers(scene):
    say = scene.say
    paragraphs = [
        scene.opening()
        + " "
        + say("There was too much to do: someone had to {do}, and someone had to {other_do}."),
        say(
            "{x} tried to do both. [First {x_he} {did}, then {x_he} {other_did}, and then {x_he}"
            " sat down and could not get up.|By noon {x_he} was so tired that {x_he} dropped the"
            " {thing}.]"
        ),
        say(
            '"Why did you not ask?" said {y}. [{x} had no answer.|"I did not want to trouble you,"'
            " said {x}.] So {y} {did}, {x} {other_did}, and {z} made [soup|tea|a fire] for all of"
            " them."
        ),
        say(
            'In the evening everything was done. "[Many hands make a short day|A rope has many'
            ' threads|Two can carry what one cannot]," said {z}. '
        )
        + scene.closing(),
    ]
    return (
        "Many hands",
        paragraphs,
        [
            (say("who {did} in the end?"), scene.fact("{y}")),
            (say("who {other_did} in the end?"), scene.fact("{x}")),
            (say("who cooked or made the fire?"), scene.fact("{z}")),
        ],
    )


WITH_THING = (
    lost,
    storm,
    apprentice,
    letter,
    animal,
    contest,
    watch,
    treasure,
    visitor,
)  # these name the thing
PLOTS = WITH_THING + (broken, trade, helpers)


def story(rng, hero=None, thing=None):
    """(title, paragraphs, questions)"""
    title, paragraphs, questions = rng.pick(WITH_THING if thing else PLOTS)(Scene(rng, hero, thing))
    return (
        title,
        [text.strip() for text in paragraphs],
        [(question[0].upper() + question[1:], answer) for question, answer in questions],
    )


def document(rng):
    title, paragraphs, questions = story(rng)
    parts = []
    if rng.chance(0.5):
        parts.append(f"Story: {title}")
    if rng.chance(0.3):
        parts.append(" ".join(paragraphs))
    else:
        parts.extend(paragraphs)
    if rng.chance(0.45):
        asked = rng.sample(questions, rng.between(1, len(questions)))
        parts.append(
            "\n".join(f"Question: {question}\nAnswer: {answer}" for question, answer in asked)
        )
    return "\n".join(parts)
