"""The small world the text is about: its people, places, things and what goes wrong with them."""

from dataclasses import dataclass

WOMEN = (
    "Mara Ines Lena Ada Clara Edith Greta Iris Karin Nora Petra Selma Ulla Wanda Zoe Amara Dalia"
    " Gwen Hana Juno Lucia Nadia Priya Rosa Tilda"
).split()
MEN = (
    "Tomas Oskar Piet Bruno Dario Felix Hugo Jonas Leo Otto Ravi Theo Viktor Yusuf Chidi Emil Farid"
    " Ivo Kofi Milo Omar Samir Anton Ruben Lars"
).split()
NAMES = WOMEN + MEN
TOWNS = (
    "Alden Brook Corran Dunmere Eastley Fallow Graymoor Hollin Ister Kelby Lorne Marsh Norwick"
    " Orrin Penhale".split()
)

COLOURS = "red blue green yellow black white brown grey silver golden purple orange".split()
THINGS = (
    "key lamp rope map book knife bell cup coin compass lens brush hammer ladle whistle ribbon"
    " notebook jar scarf glove button candle flute spoon needle mirror kite stamp ring pencil clock"
    " basket"
).split()
MADE = (
    "brass key|brass bell|brass compass|brass whistle|brass lamp|wooden spoon|wooden flute|wooden"
    " clock|wooden whistle|copper coin|copper bell|copper ladle|iron key|iron hammer|iron"
    " ring|glass jar|glass button|glass lens|leather glove|leather notebook|clay cup|clay jar|clay"
    " lamp|paper kite|paper map|woollen scarf|woollen glove|linen ribbon|old map|old book|old"
    " mirror|old clock"
).split("|")
CONTAINERS = "box shelf drawer cabinet crate bag room hook chest locker".split()
SPOTS = (
    "under the bench|behind the door|on the windowsill|inside an old boot|under a pile of sacks|at"
    " the bottom of the basket|between two books|on top of the cupboard|beside the stove|in the"
    " pocket of a coat|under the stairs|behind the water barrel|in the wheelbarrow|next to the"
    " lantern|inside the teapot|under the table"
).split("|")
OUTSIDE = (
    "in the ditch|under the hedge|by the old oak|in the long grass|at the foot of the hill|behind"
    " the wall".split("|")
)
ANIMALS = "cat dog gull fox goat crow hedgehog owl donkey duck rabbit squirrel".split()
WEATHER = (
    "clear and cold|grey and wet|warm and still|bright after the rain|white with fog|windy and"
    " bright|hot and dry|mild and cloudy"
).split("|")
TRAITS = (
    "patient curious careful cheerful stubborn quiet gentle proud clever restless honest thoughtful"
    .split()
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = (
    "January February March April May June July August September October November December".split()
)
OPPOSITES = [
    tuple(pair.split("/"))
    for pair in (
        "hot/cold big/small early/late open/closed wet/dry light/dark full/empty near/far fast/slow"
        " high/low old/new soft/hard long/short clean/dirty loud/quiet thick/thin strong/weak"
        " heavy/light up/down left/right"
    ).split()
]
PLURALS = [
    tuple(pair.split("/"))
    for pair in (
        "lamp/lamps key/keys box/boxes knife/knives shelf/shelves goose/geese child/children"
        " berry/berries loaf/loaves boat/boats brush/brushes leaf/leaves foot/feet city/cities"
        " mouse/mice wolf/wolves rope/ropes tooth/teeth bench/benches story/stories"
    ).split()
]
PAST = [
    tuple(pair.split("/"))
    for pair in (
        "walk/walked mend/mended carry/carried bring/brought find/found go/went see/saw write/wrote"
        " sing/sang plant/planted sell/sold keep/kept build/built take/took give/gave make/made"
        " hear/heard open/opened teach/taught run/ran"
    ).split()
]
KINDS = {
    "animal": ANIMALS,
    "colour": COLOURS,
    "tool": "hammer saw chisel rake spade plane file wrench".split(),
    "food": "bread soup cheese honey apple onion butter plum".split(),
    "weather": "rain snow fog wind hail frost storm sun".split(),
}


@dataclass(frozen=True)
class Place:
    name: str  # with its article
    at: str  # "at the harbour"
    roles: tuple  # who works here
    tasks: tuple  # (do, did, doing)
    faults: tuple  # (what, how it failed, what was tried in vain, what was wrong, what helped)
    senses: tuple  # one clause each, past tense
    goods: tuple  # (one, many) things that are counted, stored and sold
    rules: tuple  # imperative sentences


def _split(text):
    return tuple(line.strip() for line in text.strip().splitlines())


def _rows(text):
    return tuple(
        tuple(cell.strip() for cell in line.split("/")) for line in text.strip().splitlines()
    )


def _place(name, at, roles, tasks, faults, senses, goods, rules):
    return Place(
        name,
        at,
        tuple(roles.split(", ")),
        _rows(tasks),
        _rows(faults),
        _split(senses),
        _rows(goods),
        _split(rules),
    )


PLACES = (
    _place(
        "the harbour",
        "at the harbour",
        "harbour master, fisher, sailor, net maker",
        """
        mend the nets / mended the nets / mending the nets
        paint the small boat / painted the small boat / painting the small boat
        coil the ropes / coiled the ropes / coiling the ropes
        unload the barrels / unloaded the barrels / unloading the barrels
        light the harbour lamp / lit the harbour lamp / lighting the harbour lamp
        count the catch / counted the catch / counting the catch""",
        """
        the winch / would not turn / pulled harder on the handle / sand was packed between its teeth / cleaned the teeth and oiled the chain
        the pump / gave no water / pumped faster and faster / a leather washer had dried out / soaked a new washer and fitted it
        the small boat / began to leak / bailed it out with a bucket / a plank had come loose below the waterline / pulled it ashore and sealed the plank with tar
        the fog bell / had lost its voice / struck it with a bigger hammer / a bird had built a nest inside it / moved the nest to the old shed""",
        """
        the ropes creaked against the posts
        gulls called over the water
        the air smelled of salt and tar
        small waves slapped at the stones
        the masts swayed like thin trees""",
        """
        crate / crates
        barrel / barrels
        net / nets
        fish / fish""",
        """
        Tie every boat with two ropes.
        Keep the steps free of nets.
        Ring the bell when fog comes in.
        Wear a vest on the outer pier.""",
    ),
    _place(
        "the workshop",
        "in the workshop",
        "carpenter, joiner, toolmaker, apprentice",
        """
        sharpen the chisels / sharpened the chisels / sharpening the chisels
        sand the chair / sanded the chair / sanding the chair
        plane the long board / planed the long board / planing the long board
        sweep the floor / swept the floor / sweeping the floor
        glue the old table / glued the old table / gluing the old table
        carve a spoon / carved a spoon / carving a spoon""",
        """
        the lathe / shook and groaned / tightened every screw / one foot stood on a lump of dried glue / scraped the floor clean and set it level
        the saw / cut crooked lines / pressed down with both hands / its teeth were bent to one side / set the teeth straight one by one
        the big clamp / slipped again and again / turned the handle until it hurt / its thread was full of sawdust / brushed the thread and rubbed it with wax
        the drawer / stuck halfway / kicked it with a boot / the wood had swollen in the damp / dried it by the stove and planed the edge""",
        """
        curls of wood lay on the floor
        the stove ticked as it warmed up
        the room smelled of pine and glue
        dust floated in the light from the window
        a saw sang in the next room""",
        """
        board / boards
        chair / chairs
        nail / nails
        spoon / spoons""",
        """
        Put every tool back on its hook.
        Never leave the glue pot open.
        Cut away from your hand.
        Sweep the floor before you go home.""",
    ),
    _place(
        "the garden",
        "in the garden",
        "gardener, beekeeper, seed keeper, helper",
        """
        water the beans / watered the beans / watering the beans
        pull the weeds / pulled the weeds / pulling the weeds
        plant the onions / planted the onions / planting the onions
        turn the compost / turned the compost / turning the compost
        tie up the roses / tied up the roses / tying up the roses
        pick the plums / picked the plums / picking the plums""",
        """
        the well / gave only mud / dropped the bucket deeper / leaves had blocked the spring / cleared the leaves and waited one night
        the gate / would not close / slammed it three times / its post leaned to one side / packed stones around the post
        the bean rows / turned yellow / watered them twice a day / their roots stood in too much water / dug a small ditch beside the bed
        the beehive / had gone silent / knocked on the roof / the cold had made the bees cling together / wrapped the hive in straw""",
        """
        bees hummed in the clover
        the soil smelled of rain
        a robin hopped along the wall
        the leaves of the plum tree shone
        water dripped from the can""",
        """
        plum / plums
        pot / pots
        seed / seeds
        pumpkin / pumpkins""",
        """
        Water before the sun is high.
        Close the gate against the goats.
        Do not step on the seed beds.
        Leave the last row for the birds.""",
    ),
    _place(
        "the bakery",
        "in the bakery",
        "baker, miller, pastry cook, shop keeper",
        """
        knead the dough / kneaded the dough / kneading the dough
        heat the oven / heated the oven / heating the oven
        shape the loaves / shaped the loaves / shaping the loaves
        sift the flour / sifted the flour / sifting the flour
        wash the trays / washed the trays / washing the trays
        fill the window / filled the window / filling the window""",
        """
        the oven / smoked badly / opened every window / an old jackdaw nest sat in the chimney / swept the chimney from above
        the dough / would not rise / added more and more flour / the yeast had grown too cold / set the bowl beside the warm stove
        the scale / always showed too much / shook it hard / a dry pea was stuck under the plate / lifted the plate and took out the pea
        the delivery cart / rolled to one side / pushed from the other side / one wheel had lost a spoke / carved a new spoke from ash wood""",
        """
        warm bread cooled on the racks
        flour lay on everything like snow
        the oven glowed in the dark
        the first customers tapped on the glass
        the smell of crust filled the street""",
        """
        loaf / loaves
        bun / buns
        cake / cakes
        sack / sacks""",
        """
        Wash your hands before you touch the dough.
        Turn the trays after ten minutes.
        Sell the oldest bread first.
        Keep the flour dry.""",
    ),
    _place(
        "the library",
        "in the library",
        "librarian, bookbinder, reader, clerk",
        """
        sort the letters / sorted the letters / sorting the letters
        bind the torn books / bound the torn books / binding the torn books
        dust the shelves / dusted the shelves / dusting the shelves
        copy the old map / copied the old map / copying the old map
        write the labels / wrote the labels / writing the labels
        read to the children / read to the children / reading to the children""",
        """
        the reading lamp / flickered all evening / turned the wick up and down / the oil was mixed with water / poured the oil away and filled the lamp again
        the tall clock / stopped at noon / pushed the hands by hand / a moth had crawled into the wheels / blew the moth out with a straw
        the rolling ladder / would not move / pulled at it with two friends / a pencil was jammed under the rail / took out the pencil with a hook
        the roof / dripped on the history books / put a cup under the drip / one tile had cracked in the frost / laid a new tile and moved the books""",
        """
        pages rustled like dry leaves
        the clock ticked above the door
        it smelled of paper and dust
        rain ran down the tall windows
        someone whispered between the shelves""",
        """
        book / books
        map / maps
        letter / letters
        label / labels""",
        """
        Bring each book back to its own shelf.
        Speak softly near the reading room.
        No tea beside the old maps.
        Write your name in the big list.""",
    ),
    _place(
        "the lighthouse",
        "at the lighthouse",
        "keeper, signal reader, painter, cook",
        """
        polish the great lens / polished the great lens / polishing the great lens
        wind the clockwork / wound the clockwork / winding the clockwork
        fill the oil tank / filled the oil tank / filling the oil tank
        note the ships / noted the ships / noting the ships
        whitewash the wall / whitewashed the wall / whitewashing the wall
        climb the stairs / climbed the stairs / climbing the stairs""",
        """
        the great lamp / burned low / poured in more oil / the wick was black with soot / trimmed the wick and wiped the glass
        the clockwork / ran too slowly / wound it twice as tight / the weight rubbed against the wall / hung the weight on a longer rope
        the radio / only hissed / hit it with a flat hand / salt had eaten through a wire / joined the wire and dried the case
        the iron door / froze shut / pushed with a shoulder / ice had formed in the lock / warmed the key over a candle""",
        """
        the beam swept over the dark sea
        wind whistled in the stairwell
        far below the surf boomed
        the lens threw stars on the walls
        a ship answered with a short horn""",
        """
        can / cans
        candle / candles
        flag / flags
        rope / ropes""",
        """
        Light the lamp before sunset.
        Write down every ship.
        Never leave the lamp room alone in a storm.
        Check the oil at midnight.""",
    ),
    _place(
        "the market",
        "at the market",
        "trader, cheese seller, potter, weaver",
        """
        set up the stall / set up the stall / setting up the stall
        weigh the cheese / weighed the cheese / weighing the cheese
        stack the bowls / stacked the bowls / stacking the bowls
        fold the cloth / folded the cloth / folding the cloth
        call out the prices / called out the prices / calling out the prices
        feed the donkey / fed the donkey / feeding the donkey""",
        """
        the stall roof / sagged in the middle / propped it up with a broom / rain had gathered in the cloth / tied the corners higher so the water ran off
        the cash box / would not open / shook it until it rattled / a bent coin was caught in the lid / slid the coin out with a thin knife
        the cart / was stuck in the mud / shouted at the donkey / the wheels had sunk to the axle / laid flat boards under the wheels
        the potter's wheel / turned with a jerk / kicked it faster / dry clay sat under the disc / washed the clay away with warm water""",
        """
        voices rose from every side
        the air was full of pepper and oranges
        coins clinked on the counters
        a fiddler played by the fountain
        bright cloth flapped in the wind""",
        """
        bowl / bowls
        cheese / cheeses
        basket / baskets
        coat / coats""",
        """
        Open the stall at sunrise.
        Give the right change.
        Keep the path clear for the carts.
        Cover the cloth when it rains.""",
    ),
    _place(
        "the station",
        "at the station",
        "station master, guard, driver, porter",
        """
        oil the points / oiled the points / oiling the points
        wave the green flag / waved the green flag / waving the green flag
        carry the trunks / carried the trunks / carrying the trunks
        sell the tickets / sold the tickets / selling the tickets
        set the signal / set the signal / setting the signal
        shovel the coal / shovelled the coal / shovelling the coal""",
        """
        the signal / hung halfway / jerked at the lever / a branch lay across the wire / walked along the line and lifted the branch away
        the engine / lost its steam / threw in more coal / a valve had cracked / screwed on the spare valve
        the station clock / ran ten minutes late / moved it forward each morning / its pendulum hung too low / raised the pendulum by a thumb
        the ticket machine / printed only stars / fed it more paper / its letters were full of ink / washed the letters in soap""",
        """
        steam drifted over the platform
        the rails hummed before the train came
        a whistle sounded in the valley
        suitcases bumped down the steps
        the waiting room smelled of coal""",
        """
        ticket / tickets
        trunk / trunks
        wagon / wagons
        parcel / parcels""",
        """
        Stand behind the white line.
        Show your ticket to the guard.
        Check the lamp on the last wagon.
        Never cross the rails.""",
    ),
    _place(
        "the farm",
        "on the farm",
        "farmer, shepherd, milker, helper",
        """
        milk the goats / milked the goats / milking the goats
        stack the hay / stacked the hay / stacking the hay
        mend the fence / mended the fence / mending the fence
        gather the eggs / gathered the eggs / gathering the eggs
        lead the sheep home / led the sheep home / leading the sheep home
        dig the potatoes / dug the potatoes / digging the potatoes""",
        """
        the fence / fell over again / pushed the posts deeper / the goats had rubbed against it every night / set new posts and gave the goats a rubbing stone
        the barn door / squeaked terribly / poured water on the hinge / the hinge was red with rust / scraped the hinge and greased it
        the plough / stopped in the field / urged the horse on / a root had wrapped around the blade / cut the root with an axe
        the milk cart / lost a wheel / tied it on with string / the pin had snapped / hammered a new pin through the axle""",
        """
        hens scratched in the yard
        the hay smelled sweet
        a cow called from the lower field
        swallows dived through the barn
        mist lay along the ditch""",
        """
        egg / eggs
        sheep / sheep
        potato / potatoes
        bucket / buckets""",
        """
        Shut the gate behind you.
        Feed the animals before yourself.
        Keep the hay dry.
        Count the sheep at dusk.""",
    ),
    _place(
        "the observatory",
        "at the observatory",
        "astronomer, lens grinder, night clerk, student",
        """
        open the dome / opened the dome / opening the dome
        clean the mirror / cleaned the mirror / cleaning the mirror
        chart the stars / charted the stars / charting the stars
        wind the sky clock / wound the sky clock / winding the sky clock
        write the night log / wrote the night log / writing the night log
        grind a lens / ground a lens / grinding a lens""",
        """
        the telescope / showed only a blur / turned the eyepiece left and right / dew had settled on the mirror / warmed the mirror with a lamp
        the dome / stuck at the north side / pulled the rope until it burned / a pine cone lay in the track / climbed up and threw the cone away
        the sky clock / skipped a minute each hour / wound it again / a wheel had lost one tooth / filed a new tooth from brass
        the star chart / did not match the sky / blamed the paper / it had been pinned upside down / turned the chart around and laughed""",
        """
        the dome turned with a low rumble
        stars hung over the dark hills
        frost grew on the railing
        a pen scratched in the silence
        the moon rose behind the pines""",
        """
        lens / lenses
        chart / charts
        plate / plates
        lantern / lanterns""",
        """
        Use only the red lamp at night.
        Breathe away from the mirror.
        Note the time of every sighting.
        Close the dome when clouds come.""",
    ),
    _place(
        "the inn",
        "at the inn",
        "innkeeper, cook, stable hand, singer",
        """
        stir the soup / stirred the soup / stirring the soup
        air the rooms / aired the rooms / airing the rooms
        chop the wood / chopped the wood / chopping the wood
        polish the glasses / polished the glasses / polishing the glasses
        brush the horses / brushed the horses / brushing the horses
        bake the pies / baked the pies / baking the pies""",
        """
        the kitchen stove / filled the house with smoke / fanned it with a towel / the pipe was full of soot / took the pipe apart and cleaned it
        the old piano / played one wrong note / pressed the key softly / a button had fallen between the strings / lifted the lid and took out the button
        the sign / had fallen in the wind / leaned it against the wall / its chain had worn thin / forged two new links
        the guest list / was soaked with tea / held it over the fire / the ink had run together / asked each guest for a name and wrote it again""",
        """
        a kettle sang on the stove
        boots dried by the fire
        laughter came from the kitchen
        rain drummed on the roof
        the stairs creaked under the guests""",
        """
        pie / pies
        glass / glasses
        blanket / blankets
        room / rooms""",
        """
        Greet every guest by name.
        Keep the fire small at night.
        Serve the soup hot.
        Lock the back door at eleven.""",
    ),
    _place(
        "the forge",
        "at the forge",
        "smith, wheelwright, bellows hand, bell founder",
        """
        pump the bellows / pumped the bellows / pumping the bellows
        bend the horseshoes / bent the horseshoes / bending the horseshoes
        cool the blades / cooled the blades / cooling the blades
        cast a small bell / cast a small bell / casting a small bell
        sort the scrap iron / sorted the scrap iron / sorting the scrap iron
        straighten the nails / straightened the nails / straightening the nails""",
        """
        the bellows / wheezed without wind / pumped with both feet / a mouse had chewed a hole in the leather / sewed a patch over the hole
        the anvil / rang with a dull sound / struck it more softly / its block had split / bound the block with an iron band
        the new bell / sounded sour / polished it for an hour / a bubble was trapped in the rim / melted it down and poured it slowly
        the water trough / ran dry by noon / carried more water / its bottom had a crack / filled the crack with pitch""",
        """
        sparks flew up to the rafters
        the hammer rang twice and rested
        hot iron hissed in the water
        the coals breathed red and black
        the smell of smoke hung in the lane""",
        """
        nail / nails
        horseshoe / horseshoes
        hinge / hinges
        blade / blades""",
        """
        Wear the leather apron.
        Never touch iron that does not glow.
        Keep water beside the fire.
        Hang the tongs on the left.""",
    ),
)


def pronouns(name):
    """(subject, object, possessive) of a name."""
    return ("she", "her", "her") if name in WOMEN else ("he", "him", "his")
