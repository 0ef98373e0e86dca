"""The data sets and checkpoints of catalogue.json, and which experiments want them.

An entry has
  name     what `reprise data get` takes
  kind     "checkpoint" or "data"
  path     the name that experiments use, which is also the place below a data folder
  licence  as its publisher names it
  gated    true if the hub gives it only to accounts that accepted the licence
  shape    the shape in models/shapes/ with as many parameters
  serves   experiments that take it by --set but do not name it
  or       another command that brings it
  sources  a list of where its files come from; each is one of
    {"hub": REPOSITORY}                               the model files of a repository of the Hugging Face hub
    {"dataset": REPOSITORY, "revision", "files"}      files of a data set there; the revision is "main" if there is none
    {"github": REPOSITORY, "commit", "files"}         files of a commit
    {"url", "size", "sha256"}                         one file
"files" maps a path to {"size", "sha256"}, which the hub may tell instead. A file keeps its own name, unless it also has
  to         the name to keep it under
  unpack     {pattern: folder}: an archive, whose members that match are kept in the folder, under their own names
  constants  {variable: name}: a Python source, of which the text of each variable is kept under the name
"""
import difflib
import json
import pathlib

from problem import Problem

HERE = pathlib.Path(__file__).resolve().parent
SCALES = ("smoke", "desk", "paper")


class Catalogue:
    def __init__(self, file, experiments):
        self.entries = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["entries"]
        self.experiments = read_experiments(experiments)

    def entry_of(self, path):
        """The entry that brings the file or folder which an experiment names; None if there is none."""
        for entry in self.entries:
            names = (entry["path"], entry["path"].removeprefix("models/"))
            if path.rstrip("/") in names or path.startswith(entry["path"] + "/"):
                return entry
        return None

    def wanted_by(self, experiment, scales=SCALES):
        """The entries that an experiment needs at one of the scales."""
        names = [name for scale in scales for name in sorted(names_at(self.experiments[experiment], scale))]
        found = [self.entry_of(name) for name in names]
        return [entry for i, entry in enumerate(found) if entry is not None and entry not in found[:i]]

    def users_of(self, entry):
        """The experiments that need an entry, and those that it serves besides."""
        users = [name for name in self.experiments if entry in self.wanted_by(name)]
        return users, [name for name in entry.get("serves", []) if name not in users]

    def chosen(self, names, scales=SCALES):
        """The entries that these names of entries, experiments and papers stand for, each once."""
        found = []
        for name in names:
            for entry in self.named(name, scales):
                if entry not in found:
                    found.append(entry)
        return found

    def named(self, name, scales):
        for entry in self.entries:
            if name.rstrip("/") in (entry["name"], entry["path"]):
                return [entry]
        short = name.removeprefix("experiments/").removesuffix(".json").rstrip("/")
        wanted = [each for each in self.experiments if short in (each, each.split("/")[0])]
        if wanted:
            return [entry for each in wanted for entry in self.wanted_by(each, scales)]
        known = [entry["name"] for entry in self.entries] + sorted(self.experiments) + sorted(
            {each.split("/")[0] for each in self.experiments if "/" in each})
        near = difflib.get_close_matches(name, known, 3, 0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise Problem(f'nothing is called "{name}": {hint}reprise data list shows all names')


def read_experiments(folder):
    folder = pathlib.Path(folder)
    found = {}
    for file in sorted(folder.glob("**/*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        if "kind" in content:
            found[file.relative_to(folder).with_suffix("").as_posix()] = content
    return found


def merged(base, changes):
    """Merges changes as the program merges a scale into an experiment: by RFC 7396, where null removes a key."""
    if not isinstance(changes, dict):
        return changes
    whole = dict(base) if isinstance(base, dict) else {}
    whole.update({key: merged(whole.get(key), value) for key, value in changes.items()})
    return {key: value for key, value in whole.items() if value is not None}


def names_at(experiment, scale):
    """The models with trained weights, the files and the folders that an experiment names at a scale."""
    content = merged({key: value for key, value in experiment.items() if key != "scales"},
                     experiment.get("scales", {}).get(scale, {}))
    names = set()
    for model in content.get("models", []):
        if isinstance(model, str):
            names.add(model)
        elif model.get("weights") != "random":
            names.add(model["model"])
    workload = content.get("workload", {})
    names |= {name for key in ("file", "templates") if isinstance(workload, dict) and workload.get(key)
              for name in below(workload[key], content.get("sweep", {}).get("set"))}
    papers = content.get("paper_numbers", [])
    names |= {file for paper in ([papers] if isinstance(papers, str) else papers) for file in file_of_paper(paper)}
    return names


def below(folder, sets):
    """The data sets in a folder, if a sweep asks them one by one; otherwise the folder itself."""
    return [f"{folder}/{name}" for name in sets] if sets else [folder]


def file_of_paper(paper):
    """The published table from which the paper's numbers of this name are read; empty if they are not read from one."""
    file = HERE.parent / "results" / "papers" / f"{paper}.json"
    if not file.exists():
        return []
    csv = json.loads(file.read_text(encoding="utf-8")).get("csv")
    return [csv["file"]] if csv else []
