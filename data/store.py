"""The data folders: what is there, and how an entry gets there whole or not at all.

A data folder is $REPRISE_DATA, where that is set, and the cache folder ${XDG_CACHE_HOME:-~/.cache}/reprise. The program looks
in both, in this order; new entries go into the first. In a data folder are
  PATH                    an entry's file or folder, where experiments find it
  .reprise/NAME.json      its manifest: where each download came from, and size and SHA-256 of each file
  .fetching/NAME/         an entry on its way: plan.json (a manifest that grows), parts, and tree/, which becomes PATH
The manifest is written before tree/ is renamed to PATH, and an entry counts as there if both are and the sizes agree. So there
is no moment at which the program could find half of an entry. What is at PATH already stays there until all else has come.
"""
import contextlib
import datetime
import fcntl
import hashlib
import json
import os
import pathlib
import shutil

import transfer
import unpack
from problem import Problem, refuse_full_disk, write_problem

HAVE, OWN, DAMAGED, MISSING = "yes", "own", "damaged", "no"
NOTHING = {"downloads": []}


def data_folders():
    """The absolute paths of the data folders. The first is the one that is written to."""
    cache = os.environ.get("XDG_CACHE_HOME") or (os.environ["HOME"] + "/.cache" if os.environ.get("HOME") else None)
    named = [os.environ.get("REPRISE_DATA"), cache and cache + "/reprise"]
    folders = [pathlib.Path(name).absolute() for name in named if name]
    if not folders:
        raise Problem("there is no place for data: set REPRISE_DATA to a folder, or HOME")
    for folder in folders:
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise Problem(f"{folder} is no folder, so no data can be there: remove it, or name a folder in REPRISE_DATA")
    return folders


def digest(entry):
    return hashlib.sha256(json.dumps(entry["sources"], sort_keys=True).encode()).hexdigest()


def read_manifest(file):
    """The manifest; None if there is none. One that is no JSON or has another form counts as one without downloads."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return NOTHING
    except OSError as error:
        raise Problem(f"{file} cannot be read: {error.strerror}. Make it readable, or remove it") from error
    return found if is_manifest(found) else NOTHING


def is_manifest(found):
    if not isinstance(found, dict) or not isinstance(found.get("downloads"), list):
        return False
    lists = [download.get("outputs", []) if isinstance(download, dict) else None for download in found["downloads"]]
    return all(isinstance(files, list) and all(map(is_output, files)) for files in lists)


def is_output(file):
    types = {"path": str, "size": int, "sha256": str}
    return isinstance(file, dict) and all(isinstance(file.get(key), kind) for key, kind in types.items())


def write_json(file, content):
    """Writes JSON to the file, which is replaced as a whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(file.name + ".half")
    with open(half, "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(half, file)


class Place:
    """One entry in one data folder."""

    def __init__(self, entry, folder):
        self.entry, self.folder = entry, folder
        self.path = folder / entry["path"]
        self.manifest_file = folder / ".reprise" / f"{entry['name']}.json"
        self.staging = folder / ".fetching" / entry["name"]
        self.tree = self.staging / "tree"

    def manifest(self):
        return read_manifest(self.manifest_file)

    def file_of(self, output):
        return self.path if output["path"] == "" else self.path / output["path"]

    def state(self):
        manifest = self.manifest()
        if manifest is None or self.path.is_symlink():  # a link leads to files that the user keeps elsewhere
            return OWN if self.path.exists() else MISSING
        if not self.path.exists():
            return MISSING
        files = outputs(manifest)
        agree = all(has_size(self.file_of(file), file) for file in files)
        return HAVE if files and agree else DAMAGED

    def size(self):
        return sum(file["size"] for file in outputs(self.manifest() or NOTHING))

    def faults(self):
        """What differs from the manifest: a sentence for each file."""
        found = []
        for output in outputs(self.manifest()):
            file = self.file_of(output)
            try:
                if not file.is_file():
                    found.append(f"{file} is missing")
                elif file.stat().st_size != output["size"]:
                    found.append(f"{file} has {file.stat().st_size} bytes, not {output['size']}")
                elif sha256_of(file) != output["sha256"]:
                    found.append(f"{file} has another content than was fetched")
            except OSError as error:
                found.append(f"{file} cannot be read: {error.strerror}")
        return found


def outputs(manifest):
    return [output for download in manifest["downloads"] for output in download.get("outputs", [])]


def contents_of(download):
    """A key for the content of a download. If its hash is known, it does not matter where the download comes from."""
    ignored = ("outputs", "url", "revision") if "sha256" in download or "git_sha1" in download else ("outputs",)
    return json.dumps({fact: download[fact] for fact in download if fact not in ignored}, sort_keys=True)


def has_size(file, output):
    return file.is_file() and file.stat().st_size == output["size"]


def sha256_of(file):
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else digest_of(stream)


def digest_of(stream):  # for Python 3.10, which has no file_digest()
    found = hashlib.sha256()
    while block := stream.read(1 << 20):
        found.update(block)
    return found.hexdigest()


def find(entry):
    """The first data folder that has the entry, or else the one that new entries go into."""
    places = [Place(entry, folder) for folder in data_folders()]
    for place in places:
        if place.state() != MISSING:
            return place
    return places[0]


class Fetch:
    """Brings one entry to its place. Used as: with Fetch(place) as fetch: fetch.prepare(); fetch.run()."""

    def __init__(self, place, pause_s):
        self.place, self.pause_s = place, pause_s
        self.entry = place.entry
        self.plan = None
        self.is_as_fetched = False  # True: all is in place already
        self.locks = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.place.staging.mkdir(parents=True, exist_ok=True)
            lock_file = self.place.staging.with_name(self.entry["name"] + ".lock")
            lock = self.locks.enter_context(open(lock_file, "w", encoding="utf-8"))
        except OSError as error:
            raise write_problem(error, self.place.folder, self.entry["name"], None) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.locks.close()
            raise Problem(f"another `reprise data get` is bringing {self.entry['name']}") from error
        except OSError as error:
            self.locks.close()
            raise Problem(f"{lock_file} cannot be locked: {error.strerror}. Let REPRISE_DATA name a folder on a file system that "
                          "has locks") from error
        return self

    def __exit__(self, *_):
        self.locks.close()

    def prepare(self):
        """Finds out what there is to bring, and what is here already: files that an earlier run left, and files in place that
        are as they were fetched. The plan of an earlier run is continued, so that all files are of one revision."""
        try:
            self.make_plan()
        except OSError as error:
            raise write_problem(error, self.place.folder, self.entry["name"], None) from error

    def make_plan(self):
        if self.place.path.is_symlink() and not self.place.path.exists():
            raise Problem(f"{self.place.path} is a link to {os.readlink(self.place.path)}, which is not there: remove the link, "
                          "or bring back what it led to")
        saved = read_manifest(self.place.staging / "plan.json") or NOTHING
        here = self.place.path.exists() and self.place.manifest() or NOTHING
        if outputs(here):
            self.refuse_foreign_files(here)
        current = [plan for plan in (saved, here) if plan.get("digest") == digest(self.entry)]
        downloads = current[0]["downloads"] if current else transfer.downloads_of(self.entry, self.place.path, self.pause_s)
        known = {contents_of(download): [{**file, "path": file["path"] or self.place.path.name} for file in download["outputs"]]
                 for plan in (here, saved) for download in plan["downloads"] if "outputs" in download}
        staged = [file for file in outputs(saved) if has_size(self.tree() / file["path"], file)]
        kept = []
        for download in downloads:
            files = known.get(contents_of(download), [])
            download.pop("outputs", None)
            if files and all(file in staged or self.is_in_place(file) for file in files):
                download["outputs"] = files
                kept += [self.tree() / file["path"] for file in files if file in staged]
        self.is_as_fetched = here in current and not kept and all("outputs" in download for download in downloads)
        for file in self.tree().rglob("*"):
            if not file.is_dir() and file not in kept:
                file.unlink()
        for file in self.place.staging.glob("*.part") if saved not in current else []:  # the part's number is one of another plan
            file.unlink()
        self.plan = {"name": self.entry["name"], "path": self.entry["path"], "digest": digest(self.entry), "downloads": downloads}
        self.save()
        self.tree().mkdir(parents=True, exist_ok=True)

    def refuse_foreign_files(self, *manifests):
        """Raises Problem for the user's own files in the folder that a fetch replaces, because only the plan's files remain."""
        known = {self.in_place(output) for manifest in manifests for output in outputs(manifest)}
        for file in sorted(self.place.path.rglob("*")) if self.place.path.is_dir() else []:
            if (file.is_symlink() or not file.is_dir()) and file not in known:
                raise Problem(f"{file} was not fetched by this program: move it out of {self.place.path}, then run the same "
                              "command again")

    def in_place(self, output):
        """The place of an output that was fetched before: below PATH, or PATH itself if that is one file."""
        return self.place.path if self.place.path.is_file() else self.place.file_of(output)

    def is_in_place(self, output):
        file = self.in_place(output)
        return has_size(file, output) and sha256_of(file) == output["sha256"]

    def tree(self):
        return self.place.tree

    def save(self):
        write_json(self.place.staging / "plan.json", self.plan)

    def part_of(self, download):
        index = self.plan["downloads"].index(download)
        return self.place.staging / f"{index:03}.part"

    def is_done(self, download):
        files = download.get("outputs", [])
        return bool(files) and all(has_size(self.tree() / file["path"], file) or has_size(self.in_place(file), file)
                                   for file in files)

    def missing_bytes(self):
        """How many bytes are still to be brought, as far as sizes are known."""
        total = 0
        for download in self.plan["downloads"]:
            if not self.is_done(download):
                part = self.part_of(download)
                total += max(0, download.get("size", 0) - (part.stat().st_size if part.exists() else 0))
        return total

    def run(self, progress):
        try:
            for download in self.plan["downloads"]:
                if not self.is_done(download):
                    self.bring(download, progress)
            self.refuse_missing_shards()
            if self.is_as_fetched:
                shutil.rmtree(self.place.staging, ignore_errors=True)
            else:
                self.install()
        except OSError as error:
            raise write_problem(error, self.place.folder, self.entry["name"], self.missing_bytes()) from error

    def bring(self, download, progress):
        part = self.part_of(download)
        sha256 = transfer.bring(download, part, progress, self.pause_s)
        kept = download["size"] if "size" in download else part.stat().st_size
        names = unpack.outputs_of(download, part, self.tree())
        is_same = not ("unpack" in download or "constants" in download)
        download["outputs"] = [{"path": name, "size": kept if is_same else (self.tree() / name).stat().st_size,
                                "sha256": sha256 if is_same else sha256_of(self.tree() / name)} for name in names]
        self.save()
        part.unlink(missing_ok=True)

    def refuse_missing_shards(self):
        files = {output["path"]: output for output in outputs(self.plan)}
        index = files.get("model.safetensors.index.json")
        if index is None:
            return
        staged = self.tree() / index["path"]
        text = (staged if staged.exists() else self.in_place(index)).read_text(encoding="utf-8")
        lacking = sorted(set(json.loads(text)["weight_map"].values()) - files.keys())
        if lacking:
            raise Problem(f"{self.entry['name']}: {index['path']} names {lacking[0]}, which the repository does not have")

    def install(self):
        """Writes the manifest first, which means nothing as long as PATH is missing. PATH then appears by one rename."""
        self.refuse_foreign_files(self.place.manifest() or NOTHING, self.plan)
        for output in outputs(self.plan):
            staged = self.tree() / output["path"]
            if not staged.exists():
                staged.parent.mkdir(parents=True, exist_ok=True)
                self.stage(self.in_place(output), staged)
        if self.place.path.exists():
            replaced = self.place.staging / "replaced"
            shutil.rmtree(replaced, ignore_errors=True)
            os.rename(self.place.path, replaced)
        is_file = self.is_one_file()
        source = self.tree() / outputs(self.plan)[0]["path"] if is_file else self.tree()
        manifest = {**self.plan, "fetched": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
        if is_file:
            manifest["downloads"] = [{**self.plan["downloads"][0],
                                      "outputs": [{**outputs(self.plan)[0], "path": ""}]}]
        write_json(self.place.manifest_file, manifest)
        self.place.path.parent.mkdir(parents=True, exist_ok=True)
        os.rename(source, self.place.path)
        shutil.rmtree(self.place.staging, ignore_errors=True)

    @staticmethod
    def stage(file, staged):
        """Links the file into the staged tree. It also stays where it is, so PATH is whole if this process is killed."""
        try:
            os.link(file, staged)
        except OSError:  # a file system without links
            shutil.copy2(file, staged)

    def is_one_file(self):
        """True for an entry whose path is a file's, such as lengths.csv."""
        sources = self.entry["sources"]
        return len(outputs(self.plan)) == 1 and len(sources) == 1 and pathlib.PurePath(self.entry["path"]).suffix != "" and \
            "hub" not in sources[0]


def refuse_full_disks(fetches):
    """Raises Problem, before the first byte is fetched, unless all that is to come fits on the disks."""
    for folder in {fetch.place.folder for fetch in fetches}:
        here = [fetch for fetch in fetches if fetch.place.folder == folder]
        refuse_full_disk(folder, sum(fetch.missing_bytes() for fetch in here), ", ".join(fetch.entry["name"] for fetch in here))
