#!/usr/bin/env python3
"""artefacts_test.py FOLDER: tests that experiments/PAPER/README.md lists each experiment of its paper, with a command
that exists and a verdict.

Each page has one table of these columns:

    | artefact | command | needs | smoke | desk | expect | verdict |

A verdict begins with "the paper's own" or with "in part:". An experiment that is no artefact of the paper may be linked
instead: [`ttft`](ttft.json)."""
import json
import pathlib
import re
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
EXPERIMENTS = TREE / "experiments"
PAPERS = {"Prompt Cache": "prompt_cache", "ChunkAttention": "chunk_attention", "RelayAttention": "relay_attention",
          "AttnCache": "attn_cache"}
COLUMNS = ["artefact", "command", "needs", "smoke", "desk", "expect", "verdict"]
VERDICTS = ("the paper's own", "in part:")


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def artefacts(text):
    """Returns the rows of a page's tables that have the columns, each as a dict."""
    rows, is_inside = [], False
    for line in text.splitlines():
        if not line.startswith("|"):
            is_inside = False
        elif [cell.lower() for cell in cells(line)] == COLUMNS:
            is_inside = True
        elif is_inside and not set(line) <= set("|-: "):
            rows.append(dict(zip(COLUMNS, cells(line))) if len(cells(line)) == len(COLUMNS) else {"artefact": line})
    return rows


def run_names(command):
    return re.findall(r"reprise run ([\w./-]+)", command)


def problems_of(page, text, experiments, data_names):
    """Returns what is wrong with a page, as sentences. `experiments` are the names that its folder's files have,
    such as "relay_attention/fig6"; `data_names` is what `reprise data get` takes beside experiments."""
    rows = artefacts(text)
    if not rows:
        return [f"{page} has no table with the columns {', '.join(COLUMNS)}"]
    folder = experiments[0].split("/")[0]
    problems, listed = [], {f"{folder}/{name}" for name in re.findall(r"\]\((\w+)\.json\)", text)}
    for row in rows:
        where = f"{page}, {row['artefact']}"
        if len(row) != len(COLUMNS):
            problems.append(f"{where}: the row has not the {len(COLUMNS)} columns of the head")
            continue
        problems += [f"{where}: {column} is empty" for column in COLUMNS if not row[column]]
        if not row["verdict"].strip("*").lower().startswith(VERDICTS):
            problems.append(f"{where}: the verdict begins neither with \"{VERDICTS[0]}\" nor with \"{VERDICTS[1]}\"")
        names = run_names(row["command"])
        if not names:
            problems.append(f"{where}: the command has no \"reprise run NAME\"")
        listed.update(names)
        problems += [f"{where}: there is no experiment {name}" for name in names
                     if not (EXPERIMENTS / f"{name}.json").exists()]
        for given in re.findall(r"reprise data get ([^`&;]+)", row["command"]):
            problems += [f"{where}: reprise data get knows no {name}" for name in given.split()
                         if not name.startswith("-") and name not in data_names
                         and not (EXPERIMENTS / f"{name}.json").exists()]
    return problems + [f"{page}: {name} is in no row" for name in experiments if name not in listed]


def data_names():
    catalogue = json.loads((TREE / "data/catalogue.json").read_text(encoding="utf-8"))
    entries = catalogue if isinstance(catalogue, list) else next(v for v in catalogue.values() if isinstance(v, list))
    return {entry["name"] for entry in entries} | set(PAPERS.values())


def experiments_of_papers():
    """Returns {folder: names of its experiments} of the four papers."""
    found = {folder: [] for folder in PAPERS.values()}
    for path in sorted(EXPERIMENTS.glob("*/*.json")):
        if json.loads(path.read_text(encoding="utf-8")).get("paper") in PAPERS:
            found.setdefault(path.parent.name, []).append(f"{path.parent.name}/{path.stem}")
    return found


class Artefacts(unittest.TestCase):
    def test_each_paper_lists_its_experiments(self):
        problems = []
        for folder, experiments in experiments_of_papers().items():
            page = EXPERIMENTS / folder / "README.md"
            if page.exists():
                problems += problems_of(f"experiments/{folder}/README.md", page.read_text(encoding="utf-8"), experiments,
                                        data_names())
            elif folder in PAPERS.values():
                problems.append(f"experiments/{folder} has no README.md that lists {', '.join(experiments)}")
        if problems:
            self.fail("\n".join(problems))

    def test_mistakes_are_found(self):
        head = "| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS) + "\n"
        good = "| Table 3 | `reprise run chunk_attention/table3` | - | 1 s | 1 min | a | the paper's own |\n"

        def found(text):
            return problems_of("page", text, ["chunk_attention/table3"], {"mmlu"})

        self.assertEqual(found(head + good), [])
        for text, part in [("", "no table"), (head, "no table"),
                           (head + good.replace("table3", "table33"), "no experiment chunk_attention/table33"),
                           (head + good.replace("table3", "table1"), "chunk_attention/table3 is in no row"),
                           (head + good.replace("the paper's own", "nearly"), "verdict"),
                           (head + good.replace(" a |", " |"), "expect is empty"),
                           (head + good.replace("`reprise run", "`reprise data get nothing; reprise run"), "knows no nothing"),
                           (head + good.replace("| - ", ""), "7 columns"),
                           (head + good.replace("reprise run chunk_attention/table3", "make"), "no \"reprise run NAME\"")]:
            self.assertTrue(any(part in problem for problem in found(text)), (part, found(text)))


unittest.main()
