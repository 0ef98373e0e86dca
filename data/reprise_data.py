#!/usr/bin/env python3
"""What `reprise data` runs: lists, fetches and checks the data sets and checkpoints of catalogue.json."""
import argparse
import contextlib
import json
import pathlib
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # where PYTHONSAFEPATH keeps Python from looking
import store
import transfer
from catalogue import SCALES, Catalogue
from problem import Problem, size_text

HERE = pathlib.Path(__file__).resolve().parent
WIDTH = 79
BYTES_PER_PARAMETER = 2  # bf16 and f16, in which these checkpoints are published
KINDS = {"checkpoint": "Checkpoints", "data": "Data sets"}


def source_of(source):
    for key in ("hub", "dataset", "github", "url"):
        if key in source:
            return f"{key}:{source[key]}" if key != "url" else source[key]
    return "-"


def listed_size(entry, place):
    """The bytes of an entry: of what is there, or as the catalogue lists them; None if it does not list all."""
    if place.state() == store.HAVE:
        return place.size()
    files = [file for source in entry["sources"] for file in source.get("files", {"": source}).values()]
    sizes = [file.get("size") for file in files]
    return None if None in sizes else sum(sizes)


def listed_files(entry, place):
    """{file: size and hash} of an entry: of what is there, or of what will be downloaded, as far as the catalogue knows."""
    if place.state() == store.HAVE:
        return {file["path"] or entry["path"]: {"size": file["size"], "sha256": file["sha256"]}
                for file in store.outputs(place.manifest())}
    return {path or source["url"]: {fact: facts[fact] for fact in ("size", "sha256") if fact in facts}
            for source in entry["sources"] if "hub" not in source
            for path, facts in source.get("files", {"": source}).items()}


def row_of(catalogue, entry):
    place = store.find(entry)
    state = place.state()
    users, others = catalogue.users_of(entry)
    return {"name": entry["name"], "kind": entry["kind"], "path": entry["path"], "bytes": listed_size(entry, place),
            "parameters": entry.get("parameters"), "licence": entry["licence"], "gated": entry.get("gated", False),
            "sources": list(dict.fromkeys(map(source_of, entry["sources"]))), "files": listed_files(entry, place), "here": state,
            "place": None if state == store.MISSING else str(place.path), "needed_by": users, "serves": others}


def shown_size(row):
    if row["bytes"] is not None:
        return size_text(row["bytes"])
    return f"~{size_text(BYTES_PER_PARAMETER * row['parameters'])}" if row["parameters"] else "-"


def show(row):
    print(f"  {row['name']:<24}{shown_size(row):>9}  {row['here']:<8}{row['licence']}")
    facts = ["from " + " and ".join(row["sources"])]
    facts += ["gated: accept its licence there"] if row["gated"] else []
    facts += ["for " + ", ".join(row["needed_by"])] if row["needed_by"] else []
    facts += ["serves " + ", ".join(row["serves"])] if row["serves"] else []
    facts += ["in " + row["place"]] if row["place"] else []
    print(textwrap.fill("; ".join(facts), WIDTH, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False,
                        break_long_words=False))


def list_all(catalogue, options):
    rows = [row_of(catalogue, entry) for entry in catalogue.entries]
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    for kind, heading in KINDS.items():
        print(f"{heading:<26}{'size':>9}  {'here':<8}licence")
        for row in rows:
            if row["kind"] == kind:
                show(row)
        print()
    print(f"They go to {store.data_folders()[0]}. Fetch them with: reprise data get NAME|EXPERIMENT|PAPER")
    return 0


def prepared(entries, options, stack, problems):
    """Prepares a fetch for each entry. Returns those that have work to do; adds (entry, problem) to `problems` where it failed."""
    fetches = []
    for entry in entries:
        try:
            place = store.find(entry)
            state = place.state()
            if state == store.OWN or state == store.HAVE and not options.again:
                note = "" if state == store.HAVE else " (not fetched by this program, so it is left alone)"
                print(f"{entry['name']} is there: {place.path}{note}")
                continue
            fetch = stack.enter_context(store.Fetch(place, options.pause_s))
            if state != store.HAVE and place.state() == store.HAVE:  # another process was bringing it until now
                print(f"{entry['name']} is there: {place.path}")
                continue
            if state == store.DAMAGED:
                print(f"{entry['name']} is damaged: what differs is fetched")
            fetch.prepare()
            fetches.append(fetch)
        except Problem as problem:
            problems.append((entry, problem))
    return fetches


def get(catalogue, options):
    scales = [options.scale] if options.scale else SCALES
    entries = catalogue.chosen(options.names, scales)
    if not entries:
        print(f"{', '.join(options.names)}: nothing to fetch, all of it comes with the program")
    problems = []
    with contextlib.ExitStack() as stack:
        try:
            fetches = prepared(entries, options, stack, problems)
            store.refuse_full_disks(fetches)
            for fetch in fetches:
                run(fetch, problems)
        except Problem:
            report(problems)
            raise
        except KeyboardInterrupt:
            if problems:
                print(file=sys.stderr)  # ends the line of the progress
            report(problems)
            raise
    report(problems)
    return 1 if problems else 0


def run(fetch, problems):
    """Fetches one entry. If that fails, adds (entry, problem) to `problems`."""
    progress = transfer.Progress(fetch.entry["name"])
    try:
        fetch.run(progress)
        progress.end()
        print(f"{fetch.entry['name']} is there: {fetch.place.path}", flush=True)
    except Problem as problem:
        progress.end()
        problems.append((fetch.entry, problem))


def report(problems):
    for entry, problem in problems:
        print(f"reprise: {entry['name']}: {problem}" + (f" Or: {entry['or']}" if "or" in entry else ""), file=sys.stderr)


def check(catalogue, options):
    entries = catalogue.chosen(options.names) if options.names else catalogue.entries
    bad = 0
    for entry in entries:
        places = [store.Place(entry, folder) for folder in store.data_folders()]
        places = [place for place in places if place.state() != store.MISSING or place.manifest() is not None]
        for place in places:
            bad += not check_place(place)
        if not places and options.names:
            print(f"{entry['name']} is not there. Fetch it: reprise data get {entry['name']}")
            bad += 1
    return 1 if bad else 0


def check_place(place):
    """Prints the state of an entry. Returns False if something is wrong with it."""
    name = place.entry["name"]
    if place.state() == store.OWN:
        print(f"{name}: {place.path} was not fetched by this program, so there is nothing to compare it with")
        return True
    faults = place.faults() or ([] if store.outputs(place.manifest()) else [f"{place.manifest_file} cannot be read"])
    for fault in faults:
        print(f"{name}: {fault}")
    print(f"{name}: fetch it anew: reprise data get --again {name}" if faults else f"{name}: as fetched, {place.path}")
    return not faults


def parse(arguments):
    parser = argparse.ArgumentParser(prog="reprise data", description=__doc__)
    parser.add_argument("--catalogue", default=HERE / "catalogue.json", help="another catalogue, for tests")
    parser.add_argument("--experiments", default=HERE.parent / "experiments", help="their folder, for tests")
    parser.add_argument("--pause-s", type=float, default=1, help="seconds before the second try; doubled with each")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list").add_argument("--json", action="store_true")
    fetch = actions.add_parser("get")
    fetch.add_argument("names", nargs="+")
    fetch.add_argument("--scale", choices=SCALES)
    fetch.add_argument("--again", action="store_true")
    actions.add_parser("check").add_argument("names", nargs="*")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        catalogue = Catalogue(options.catalogue, options.experiments)
        status = {"list": list_all, "get": get, "check": check}[options.action](catalogue, options)
        if sys.stdout is not None:
            sys.stdout.flush()  # here an error can still be reported
        return status
    except Problem as problem:
        print(f"reprise: {problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stdout = None
        return 141
    except OSError as error:
        if error.filename is not None:
            print(f"reprise: cannot read {error.filename}: {error.strerror}. REPRISE_DATA names another folder.", file=sys.stderr)
            return 1
        sys.stdout = None  # or Python would try to write again when it ends
        print(f"reprise: cannot write to standard output: {error.strerror}. Is the disk full, or was it closed?", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        keeps_work = options.action == "get"
        print("\nstopped" + ("; the same command goes on where it was" if keeps_work else ""), file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
