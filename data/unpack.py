"""Turns a downloaded file into the files that the program reads."""
import ast
import fnmatch
import os
import pathlib
import shutil
import tarfile
import zipfile

from problem import Problem, refuse_full_disk, write_problem


def outputs_of(download, file, tree):
    """Moves or unpacks the file into the folder `tree`. Returns the names of what it gave, below that folder."""
    try:
        if "unpack" in download:
            return unpack(download, file, tree)
        if "constants" in download:
            return write_constants(download, file, tree)
        name = download.get("to", download["name"])
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, tree / name)
        return [name]
    except OSError as error:
        raise write_problem(error, tree, download["name"], None) from error


def unpack(download, file, tree):
    """Keeps members of an archive under their file names alone, so that no archive decides where a file goes."""
    names = []
    try:
        with members_of(file) as members:
            chosen = [(member, folder_of(download, member.name)) for member in members.files]
            chosen = [(member, folder) for member, folder in chosen if folder is not None]
            refuse_full_disk(tree, sum(member.size for member, _ in chosen), f"unpacking {download['name']}")
            for member, folder in chosen:
                names.append(folder + pathlib.PurePosixPath(member.name).name)
                (tree / folder).mkdir(parents=True, exist_ok=True)
                with members.open(member) as source, open(tree / names[-1], "wb") as target:
                    shutil.copyfileobj(source, target)
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise Problem(f"{download['url']} is no archive that can be read: {error}") from error
    unmet = [pattern for pattern in download["unpack"] if not any(
        fnmatch.fnmatchcase(member.name.removeprefix("./"), pattern) for member, _ in chosen)]
    if unmet:
        raise Problem(f"{download['url']} has no {unmet[0]}. Has its layout changed?")
    return names


def folder_of(download, name):
    for pattern, folder in download["unpack"].items():
        if fnmatch.fnmatchcase(name.removeprefix("./"), pattern):
            return folder
    return None


class Member:
    def __init__(self, name, size, key):
        self.name, self.size, self.key = name, size, key


class Members:
    def __init__(self, archive, files, open_one):
        self.archive, self.files, self.open_one = archive, files, open_one

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.archive.close()

    def open(self, member):
        return self.open_one(member.key)


def members_of(file):
    if zipfile.is_zipfile(file):
        archive = zipfile.ZipFile(file)
        files = [Member(info.filename, info.file_size, info) for info in archive.infolist() if not info.is_dir()]
        return Members(archive, files, archive.open)
    archive = tarfile.open(file)
    files = [Member(info.name, info.size, info) for info in archive if info.isfile()]
    return Members(archive, files, archive.extractfile)


def write_constants(download, file, tree):
    """Writes the texts of variables of a Python source, which is read without running it."""
    texts = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.update({target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)})
    for variable, name in download["constants"].items():
        if variable not in texts:
            raise Problem(f"{download['url']} has no text {variable}")
        with open(tree / name, "w", encoding="utf-8", newline="") as target:
            target.write(texts[variable])
    return list(download["constants"].values())
