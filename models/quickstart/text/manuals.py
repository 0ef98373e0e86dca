"""Short manuals: a title, what is needed, numbered steps and a note."""

from .grammar import listing, write
from .words import PLACES

# (how to ..., things needed, steps, note, one sentence that sums it up)
MANUALS = (
    (
        "sharpen a chisel",
        "a whetstone, a little oil, a soft cloth",
        (
            "Put [a few drops|a little] of oil on the stone.",
            "Lay the flat side of the chisel on the stone and rub it [ten|twelve|twenty] times.",
            "Turn the chisel and hold it at a low angle.",
            "Push it forward [slowly|with even pressure].",
            "Wipe the edge with the cloth.",
            "Test the edge on a scrap of pine.",
        ),
        "[A dull chisel is more dangerous than a sharp one.|Never test the edge with your thumb.]",
        "oil the stone, rub the flat side, then push the edge forward at a low angle",
    ),
    (
        "mend a net",
        "a net needle, strong twine, a knife",
        (
            "Hang the net between two posts.",
            "Cut away the torn threads with the knife.",
            "Fill the needle with twine.",
            "Start at the top of the hole and tie a double knot.",
            "Work [from left to right|row by row] until the hole is closed.",
            "Pull each knot tight.",
        ),
        "[Wet twine holds better than dry twine.|Keep the new squares as wide as the old ones.]",
        "hang it up, cut away the torn threads and tie new squares from the top down",
    ),
    (
        "plant onions",
        "small onions, a rake, a watering can",
        (
            "Choose a [sunny|dry] bed.",
            "Rake the soil until it is fine.",
            "Draw lines that are one hand apart.",
            "Press the onions into the soil so that their tips still show.",
            "Water them [gently|lightly].",
            "Pull the weeds every [week|second week].",
        ),
        "[Onions do not like wet feet.|Stop watering when the leaves turn yellow.]",
        "press them into fine soil, one hand apart, and water them gently",
    ),
    (
        "bake bread",
        "flour, water, salt, yeast",
        (
            "Mix the yeast with warm water.",
            "Add the flour and the salt.",
            "Knead the dough for [ten|fifteen] minutes.",
            "Let it rise under a cloth until it has doubled.",
            "Shape a loaf and cut the top.",
            "Bake it in a hot oven until it sounds hollow.",
        ),
        "[Do not cut the bread while it is hot.|Old dough in the new dough gives a better taste.]",
        "knead the dough, let it rise until it has doubled, and bake it in a hot oven",
    ),
    (
        "bind a torn book",
        "thread, a needle, glue, a press",
        (
            "Take the loose pages out.",
            "Lay them in the right order and tap them straight.",
            "Make [three|five] holes along the fold.",
            "Sew the pages with a long thread.",
            "Brush glue along the back.",
            "Leave the book in the press for [a day|one night].",
        ),
        "[Use little glue.|Thin paper needs thin thread.]",
        "sew the pages along the fold, glue the back and leave the book in the press",
    ),
    (
        "trim a lamp",
        "small scissors, a dry cloth, oil",
        (
            "Let the lamp grow cold.",
            "Lift off the glass and wipe it with the cloth.",
            "Cut the black part off the wick.",
            "Round the corners of the wick.",
            "Fill the lamp with oil, but not to the top.",
            "Put the glass back and light the lamp.",
        ),
        "[A straight wick gives a quiet flame.|Never fill a burning lamp.]",
        "cut off the black part of the wick, clean the glass and fill in oil",
    ),
    (
        "make tea for ten",
        "a big kettle, ten cups, a tin of tea, honey",
        (
            "Fill the kettle and bring it to the boil.",
            "Warm the pot with a little hot water.",
            "Put in one spoon of tea for each cup and one for the pot.",
            "Pour in the water and wait [four|five] minutes.",
            "Pour the tea through a sieve.",
            "Serve it with honey.",
        ),
        "[Tea should never boil.|Ask who likes it weak and pour those cups first.]",
        "use one spoon of tea for each cup and one for the pot, and wait a few minutes",
    ),
    (
        "oil a squeaking hinge",
        "a rag, a small brush, oil",
        (
            "Open the door halfway.",
            "Brush the dirt out of the hinge.",
            "Put [one drop|two drops] of oil on the pin.",
            "Move the door back and forth.",
            "Wipe off the oil that runs out.",
        ),
        "[Water makes it worse.|Too much oil catches dust.]",
        "brush it clean and put a drop of oil on the pin",
    ),
    (
        "tie up a boat",
        "two ropes, a post or a ring",
        (
            "Come in [slowly|against the wind].",
            "Throw the front rope around the post.",
            "Make two turns and pull.",
            "Tie the back rope the same way.",
            "Leave enough slack for the tide.",
            "Check both ropes after an hour.",
        ),
        "[One rope is not enough.|The knot should open with one pull.]",
        "use a front rope and a back rope and leave some slack for the tide",
    ),
    (
        "clean a lens",
        "a soft brush, clean water, a linen cloth",
        (
            "Blow the dust off.",
            "Brush the lens from the middle to the edge.",
            "Breathe on the glass or use a drop of water.",
            "Wipe it in small circles with the cloth.",
            "Hold it against the light and look for streaks.",
        ),
        "[Never rub dry dust.|Clean hands make clean glass.]",
        "brush off the dust first, then wipe it in small circles with a damp cloth",
    ),
    (
        "keep bees through the winter",
        "straw, a board, sugar water",
        (
            "Make the door of the hive small.",
            "Wrap the hive in straw.",
            "Put a board on the roof against the wind.",
            "Feed the bees with sugar water in [autumn|October].",
            "Do not open the hive while it is cold.",
            "Listen at the wall [once a week|now and then].",
        ),
        "[A quiet hum is a good sign.|Bees die of damp sooner than of cold.]",
        "wrap the hive in straw, feed them before the cold and do not open the hive",
    ),
    (
        "send a parcel",
        "strong paper, string, a label, a stamp",
        (
            "Wrap the thing in paper twice.",
            "Tie it with string along and across.",
            "Write the name and the town on the label.",
            "Put the stamp in the upper right corner.",
            "Bring the parcel to the counter before [noon|four].",
        ),
        "[Glass must travel in straw.|Write clearly.]",
        "wrap it twice, tie it with string and write the label clearly",
    ),
)


def summary(rng, manual=None):
    """(task, one-sentence answer)"""
    task, _, _, _, summed_up = manual or rng.pick(MANUALS)
    return task, summed_up[0].upper() + summed_up[1:] + "."


def manual_text(rng, manual):
    task, needed, steps, note, _ = manual
    lines = [rng.pick((f"How to {task}", f"Manual: how to {task}"))]
    lines.append("You need: " + listing(rng.shuffled(needed.split(", "))) + ".")
    kept = [step for step in steps if rng.chance(0.9)]
    lines += [f"{number}. {write(rng, step)}" for number, step in enumerate(kept, start=1)]
    if rng.chance(0.7):
        lines.append("Note: " + write(rng, note))
    return "\n".join(lines)


def document(rng):
    if rng.chance(0.75):
        return manual_text(rng, rng.pick(MANUALS))
    place = rng.pick(PLACES)
    rules = rng.shuffled(place.rules)
    return f"Rules {place.at}\n" + "\n".join(
        f"{number}. {rule}" for number, rule in enumerate(rules, start=1)
    )
