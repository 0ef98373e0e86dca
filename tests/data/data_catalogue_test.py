#!/usr/bin/env python3
"""data_catalogue_test.py TREE: tests that every model and data set which an experiment names, at every scale, comes with the
program, is a shape, or is in data/catalogue.json; and that the catalogue is sound."""
import pathlib
import re
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TREE / "data"))

from catalogue import SCALES, Catalogue, names_at, read_experiments  # noqa: E402
from transfer import github_url  # noqa: E402

EXPERIMENTS = read_experiments(TREE / "experiments")
CATALOGUE = Catalogue(TREE / "data/catalogue.json", TREE / "experiments")
ENTRIES = CATALOGUE.entries
SHAPES = {file.stem for file in (TREE / "models/shapes").glob("*.json")}
SHIPPED_MODELS = {folder.name for folder in (TREE / "models").iterdir() if (folder / "config.json").exists()}
# Published tables that have no place in the catalogue, because their authors published them in another form.
NOWHERE = {"datasets/reference_results/prompt_cache/critical_point.csv"}


def strings(value, path=()):
    """Returns all texts of an experiment file, each with the keys that lead to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, path)
    elif isinstance(value, str):
        yield path, value


def comes_with_the_program(name):
    return (TREE / name).exists() or name in SHIPPED_MODELS


class Experiments(unittest.TestCase):
    def test_all_that_they_need_can_be_had(self):
        for name, content in EXPERIMENTS.items():
            for scale in SCALES:
                for wanted in names_at(content, scale):
                    self.assertTrue(comes_with_the_program(wanted) or CATALOGUE.entry_of(wanted) or wanted in NOWHERE,
                                    f"{name} at scale {scale} names {wanted}, which neither ships nor is in data/catalogue.json")

    def test_models_of_random_weights_are_shapes_or_shipped(self):
        for name, content in EXPERIMENTS.items():
            for part in [content, *content.get("scales", {}).values()]:
                for model in part.get("models", []):
                    if isinstance(model, dict) and model.get("weights") == "random":
                        self.assertTrue(model["model"] in SHAPES or comes_with_the_program(model["model"]), f"{name}: {model}")

    def test_no_name_escapes_these_tests(self):
        """Every text that looks like the name of a model or a file must be found by names_at(), whatever its key."""
        for name, content in EXPERIMENTS.items():
            found = {wanted for scale in SCALES for wanted in names_at(content, scale)}
            for path, text in strings(content):
                is_file = path[-1] in ("file", "templates", "model", "models", "tokenizer", "projector_file")
                is_path = re.fullmatch(r"[\w.-]+(/[\w.-]+)+", text) and path[-1] not in ("note", "title")
                if is_file or is_path:
                    is_above = any(wanted.startswith(text + "/") for wanted in found)  # a folder of swept data sets
                    is_swept = path[-2:] == ("sweep", "set") and any(wanted.endswith("/" + text) for wanted in found)
                    self.assertTrue(text in found | SHAPES or is_above or is_swept or comes_with_the_program(text),
                                    f"{name}: {'.'.join(path)}: {text}")


class TheCatalogue(unittest.TestCase):
    def test_names_mean_one_thing(self):
        names = [entry["name"] for entry in ENTRIES] + list(EXPERIMENTS) + sorted({each.split("/")[0] for each in EXPERIMENTS})
        self.assertEqual(len(set(names) - {"quickstart"}), len([name for name in names if name != "quickstart"]))
        paths = [entry["path"] for entry in ENTRIES]
        self.assertEqual(len(set(paths)), len(paths))

    def test_every_entry_serves_an_experiment_that_there_is(self):
        for entry in ENTRIES:
            users, others = CATALOGUE.users_of(entry)
            self.assertTrue(users or others, f"nothing needs {entry['name']}")
            self.assertLessEqual(set(entry.get("serves", [])), set(EXPERIMENTS), entry["name"])
            self.assertEqual(entry.get("serves", []), others, f"{entry['name']} is named by an experiment that it serves")

    def test_keys_are_known_and_complete(self):
        known = {"name", "kind", "path", "licence", "gated", "shape", "parameters", "serves", "or", "sources"}
        for entry in ENTRIES:
            self.assertLessEqual(set(entry), known, entry["name"])
            self.assertLessEqual({"name", "kind", "path", "licence", "sources"}, set(entry), entry["name"])
            self.assertEqual(entry["kind"], "checkpoint" if entry["path"].startswith(("checkpoints/", "models/")) else "data")
            self.assertLessEqual(len(entry["licence"]), 35, f"{entry['name']}: a line of the list has 80 columns")
            self.assertEqual("shape" in entry, "parameters" in entry, entry["name"])
            self.assertTrue(entry.get("shape", "llama-2-7b") in SHAPES, entry["name"])

    def test_what_no_hub_checks_has_a_checksum_here(self):
        for entry in ENTRIES:
            for source in entry["sources"]:
                if "hub" in source or "dataset" in source:
                    continue
                for path, facts in source.get("files", {"": source}).items():
                    self.assertRegex(facts.get("sha256", ""), r"^[0-9a-f]{64}$", f"{entry['name']}: {path}")
                    self.assertGreater(facts.get("size", 0), 0, f"{entry['name']}: {path}")
                if "github" in source:
                    self.assertRegex(source["commit"], r"^[0-9a-f]{40}$", entry["name"])

    def test_a_file_of_a_commit_has_an_address(self):
        self.assertEqual(github_url("a/b", "c" * 40, "d e/f.txt"),
                         f"https://raw.githubusercontent.com/a/b/{'c' * 40}/d%20e/f.txt")

    def test_it_is_the_only_place_with_repositories(self):
        for folder in ("app", "core", "experiments", "workloads", "methods", "data"):
            for file in (TREE / folder).rglob("*.*"):
                if file.suffix in (".cpp", ".h", ".py"):
                    text = file.read_text(encoding="utf-8")
                    for source in (source for entry in ENTRIES for source in entry["sources"]):
                        self.assertNotIn(source.get("hub", "no/thing"), text, file)


unittest.main()
