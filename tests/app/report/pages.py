"""Helpers of the page's tests: the program, and a page that is read strictly."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HTML_SVG = "{http://www.w3.org/2000/svg}"


# Folders with modules that cannot be imported, removed when the tests end.
FOLDERS = []


def python_without(*modules):
    """Returns an environment in which no Python has these modules, as on a machine without their packages."""
    FOLDERS.append(tempfile.TemporaryDirectory())
    for module in modules:
        with open(os.path.join(FOLDERS[-1].name, module + ".py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('as if it were not installed')\n")
    return {"PYTHONPATH": FOLDERS[-1].name}


class Reprise:
    """The program, used as its users do."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments, **environment):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, check=False, timeout=120,
                              encoding="utf-8", errors="replace", env=os.environ | environment)

    def run_quickstart(self, folder, *more):
        done = self("run", "quickstart", "--scale", "smoke", "--threads", "1", "--no-plot", "--out", folder, *more)
        assert done.returncode == 0, done.stderr
        return folder

    def report(self, *results, out, **environment):
        """Returns the page of these results."""
        done = self("report", *results, "--out", out, **environment)
        assert done.returncode in (0, 4), done.stderr
        return StrictPage(out)


class StrictPage:
    """The page as XML: an unescaped character or an open tag is a ParseError."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        assert self.text.startswith("<!DOCTYPE html>\n<html lang=\"en\">")
        self.root = ElementTree.fromstring(self.text)

    def all(self, tag):
        return list(self.root.iter(tag))

    def words(self):
        """Returns the visible text as one line."""
        seen = self.root.findall("body/header") + self.root.findall("body/main")
        return " ".join(" ".join("".join(part.itertext()) for part in seen).split())

    def table(self, name):
        """Returns the texts of a table's body, row by row."""
        found = self.root.find(f".//table[@id='{name}']")
        assert found is not None, name
        return [["".join(cell.itertext()) for cell in row] for row in found.find("tbody")]

    def headings(self, name):
        return ["".join(cell.itertext()) for cell in self.root.find(f".//table[@id='{name}']/thead/tr")]

    def faults(self):
        """Returns faults that no page may have: duplicate ids, dead links, resources that are loaded, scripts that are
        not ours."""
        ids = [element.get("id") for element in self.root.iter() if element.get("id") is not None]
        faults = [f"id {name} twice" for name in set(ids) if ids.count(name) > 1]
        for element in self.root.iter():
            for key, value in element.attrib.items():
                if key.startswith("on"):
                    faults.append(f"{element.tag} has {key}")
                if key in ("href", "src") and not value.startswith(("#", "data:")):
                    faults.append(f"{element.tag} asks for {value}")
                targets = re.findall(r"url\(#([^)]*)\)", value) + ([value[1:]] if key == "href" and value[0] == "#" else [])
                faults += [f"{element.tag} means {name}, which is not there" for name in targets if name not in ids]
                faults += [f"{key} loads {value}" for _ in re.findall(r"url\((?!#)", value)]
        scripts = [element.text for element in self.all("script")]
        if len(scripts) != 1:
            faults.append(f"{len(scripts)} scripts")
        digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        policy = self.root.find(".//meta[@http-equiv='Content-Security-Policy']").get("content")
        if f"script-src 'sha256-{digest}';" not in policy or not policy.startswith("default-src 'none';"):
            faults.append(f"the policy does not name the script's hash {digest}: {policy}")
        return faults


def python_with(*modules):
    """Returns a Python that has these modules; "" if there is none."""
    return next((python for python in ("python3", "/usr/bin/python3") if subprocess.run(
        [python, "-c", "import " + ", ".join(modules)], capture_output=True, check=False).returncode == 0), "")


def has_module(name):
    return python_with(name) != ""


def has_matplotlib():
    return has_module("matplotlib")


def has_jinja():
    return has_module("jinja2")


NO_MATPLOTLIB = "there is no matplotlib here (Debian: apt-get install python3-matplotlib)"

NO_JINJA = "there is no jinja2 here (Debian: apt-get install python3-jinja2)"


def skip(why):
    """Skips the test: 77 tells ctest that it was skipped."""
    print("skipped:", why)
    sys.exit(77)
