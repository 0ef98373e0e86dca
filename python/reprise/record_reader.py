"""Reads files of records as the program does (results/store.h, results/run_entry.h, results/gzip.h), packed or not.
Each record gets all its keys."""
import json
import pathlib
import re
import zlib

# Keys that all records of a run share. A file has them once, in the run's entry.
SHARED = ("experiment", "config_hash", "machine", "provenance")
# Keys of a whole record, the shared ones included.
KEYS = (*SHARED, "point", "group", "settings", "samples", "metrics", "answers")
SCHEMA = 2
MOST_BYTES = 1 << 30
REMEDY = "Copy it again from where it comes from (in a git checkout: git restore)"


def unpacked(data, path, most_bytes=MOST_BYTES):
    """Returns the unpacked bytes of a gzip file. Raises ValueError naming the file and the remedy."""
    text = bytearray()
    while True:
        member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        try:
            text += member.decompress(data, most_bytes - len(text) + 1)
        except zlib.error as error:
            raise ValueError(f"{path} is damaged or no gzip file: {error}. {REMEDY}.") from None
        if len(text) > most_bytes:
            raise ValueError(f"{path} unpacks to more than the {most_bytes} bytes allowed here. It is no file of results "
                             "that this program wrote; unpack it with gunzip and look at it before you use it.")
        if not member.eof:
            raise ValueError(f"{path} is cut short: its gzip data end too early. {REMEDY}.")
        data = member.unused_data
        if not data:
            return bytes(text)


def read_text(path):
    """Returns a file's text, unpacked if its name ends in .gz. Raises OSError, ValueError."""
    data = pathlib.Path(path).read_bytes()
    return (unpacked(data, path) if str(path).endswith(".gz") else data).decode("utf-8")


def lines_of(text):
    """Splits a text at "\n" only, because texts in records may hold other characters at which Python splits lines."""
    return [line for line in text.split("\n") if line]


def is_entry(line):
    return isinstance(line, dict) and "run" in line and "point" not in line


def whole_records(lines, source):
    """Returns the records of a file's lines, each with its run's keys instead of "run". Raises ValueError naming the
    line."""
    runs, records = {}, []
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{source} line {number} is not valid JSON: {error}") from None
        if is_entry(line):
            if missing := [key for key in SHARED if key not in line]:
                raise ValueError(f"{source} line {number} is a run's entry without \"{missing[0]}\"")
            runs[line["run"]] = {key: line[key] for key in SHARED}
        elif isinstance(line, dict) and "run" in line:
            if line["run"] not in runs:
                raise ValueError(f"{source} line {number} is of run \"{line['run']}\", of which no line before it is the entry")
            records.append({key: value for key, value in line.items() if key != "run"} | runs[line["run"]])
        else:
            records.append(line)
    return records


def read_records(path):
    """Returns the records of a file NAME.jsonl or NAME.jsonl.gz. Raises OSError, ValueError."""
    return whole_records(lines_of(read_text(path)), path)


def record_files(folder):
    """Returns the record files of a run's folder, that of the only writer first, as results/store.cpp does."""
    files = [file for file in pathlib.Path(folder).iterdir() if re.fullmatch(r"records(-.*)?\.jsonl(\.gz)?", file.name)]
    return sorted(files, key=lambda file: (file.name.removesuffix(".gz").removesuffix(".jsonl"), file.name))


def take_labels(records, run):
    """Gives the records the labels that run.json gives their methods, as results/folder.cpp does."""
    def key(name, options):
        return name, json.dumps(options or {}, sort_keys=True)
    labels = {key(method["name"], method.get("options")): label
              for method, label in zip(run["settings"]["methods"], run["labels"])}
    for record in records:
        requested, resolved = record["settings"]["requested"], record["settings"]["resolved"]
        label = labels.get(key(requested.get("method"), requested.get("method_options")))
        if label:
            resolved["method_label"] = label
        elif label is not None:
            resolved.pop("method_label", None)


def require_planned(records, run, file):
    """Raises ValueError if a record of the file is of other settings than run.json's, as results/store.cpp does. Older
    run.json have no hash of the settings."""
    planned = run.get("config_hash")
    for record in records:
        if planned and record["config_hash"] != planned:
            raise ValueError(f"{file} has records of other settings than the folder's run.json: of experiment "
                             f"{record['experiment']['name']} (config_hash {record['config_hash']}, and that of run.json is "
                             f"{planned}). Move the file out of the folder; `reprise plot` also draws a file alone.")


def read_points(source, files, read):
    """Returns the records that `read` finds in the files of a run's folder, each point once, with the labels of run.json.
    Raises OSError, and ValueError also for records of other settings than run.json's."""
    manifest = pathlib.Path(source, "run.json")
    run = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    points = {}
    for file in files:
        records = read(file)
        require_planned(records, run, file)
        for record in records:
            points.setdefault(record["point"], record)
    if "labels" in run:
        take_labels(points.values(), run)
    return list(points.values())


def read_folder(folder):
    """Returns the records of a run's folder, as read_points() does."""
    return read_points(folder, record_files(folder), read_records)


def whole_groups(path):
    """Returns the records of a file without a last group that its run was still writing. Raises OSError, ValueError."""
    text = read_text(path)
    lines = lines_of(text[:text.rfind("\n") + 1])
    if lines and not is_json(lines[-1]):   # a write that a power cut tore
        lines.pop()
    records = whole_records(lines, path)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise ValueError(f"{path}: record {number} is no JSON object")
        if missing := [key for key in KEYS if key not in record]:
            raise ValueError(f"{path}: record {number} has no \"{missing[0]}\"")
    if records and (last := records[-1]["group"])["index"] + 1 < last["of"]:
        del records[-last["index"] - 1:]
    return records


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def files_of(source):
    """Returns the record files of a run's folder, or the one file that is given. Raises OSError, ValueError."""
    source = pathlib.Path(source)
    files = record_files(source) if source.is_dir() else [source]
    if not files:
        raise ValueError(f"{source} holds no records.jsonl; give the folder that `reprise run` wrote (its --out)")
    return files


def points_of(source):
    """Returns the records of a run's folder or of one file, each point once, as `reprise export` takes them. Raises
    OSError, ValueError."""
    records = read_points(source, files_of(source), whole_groups)
    if not records:
        raise ValueError(f"{source} holds no complete record yet; finish its run first")
    return records
