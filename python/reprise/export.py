"""Writes records in the formats of other programs, for `reprise export`."""
import argparse
import json
import os
import pathlib
import re
import signal
import sys

from . import columns, frames, record_reader
from .formats import bmf, google_benchmark, llm_d, vllm

BY_METRIC = {"bmf": bmf.document, "google-benchmark": google_benchmark.document}
OF_REQUESTS = {"vllm": vllm.documents, "llm-d": llm_d.documents}


def note(sentence):
    print(f"reprise: {sentence}", file=sys.stderr)


def json_bytes(document, indent=2):
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent)
    return text.encode("utf-8", errors="replace") + b"\n"


def parquet_bytes(source, records, metrics):
    table = frames.arrow_table(columns.table_of([(source, records)], metrics or None))
    import pyarrow
    from pyarrow import parquet
    out = pyarrow.BufferOutputStream()
    parquet.write_table(table, out)
    return out.getvalue().to_pybytes()


def descriptor_of(path):
    """N for /dev/stdout (1), /dev/stderr (2), /dev/fd/N and /proc/self/fd/N, else None."""
    name = os.path.normpath(path)
    number = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", name)
    return int(number[1]) if number else {"/dev/stdout": 1, "/dev/stderr": 2}.get(name)


def end_of_links(path):
    """Follows the links at a path that a user names, if they are this user's or root's, up to a descriptor's name. As
    AtomicFile does (core/base/atomic_file.h)."""
    for _ in range(40):
        if descriptor_of(path) is not None or not path.is_symlink() or path.lstat().st_uid not in (0, os.geteuid()):
            break
        path = path.parent / path.readlink()
    return path


def written(data, path, follows=True):
    """Writes a whole file, or standard output if no path is given. A file gets its name when all of it is on the disk."""
    try:
        if path is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        end = end_of_links(path) if follows else path
        descriptor = descriptor_of(end)
        if descriptor is not None:   # keeps its offset, which a new opening of its file would not
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(data)
        elif path.exists() and not path.is_file():   # a pipe
            path.write_bytes(data)
        else:
            write_whole(data, end)
    except OSError as error:
        raise OSError(f"writing {path or 'standard output'} failed: {error.strerror}. Is there space, and may you write "
                      "there?") from error


def write_whole(data, path):
    beside = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    try:
        with open(beside, "wb") as file:
            if path.is_file() and not path.is_symlink():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_reports(records, options):
    """Writes a benchmark report for each point: into the folder --out, or one to standard output."""
    documents = llm_d.documents(records)
    if options.out is None:
        if len(documents) > 1:
            raise ValueError(f"{options.results} has {len(documents)} points, and a benchmark report is about one: give --out "
                             "FOLDER, which gets a file for each")
        written(json_bytes(documents[0]), None)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for record, document in zip(records, documents):
        written(json_bytes(document), options.out / llm_d.file_name(record), follows=False)


def export(options):
    metrics = options.metrics.split(",") if options.metrics not in (None, "", "all") else []
    if options.metrics and options.format in OF_REQUESTS:
        raise ValueError(f"--metrics: the metrics of --format {options.format} are fixed; leave it out")
    if options.format == "parquet" and options.out is None and sys.stdout.isatty():
        raise ValueError("--format parquet is binary, and standard output is a terminal: give --out FILE")
    records = record_reader.points_of(options.results)
    if options.format == "llm-d":
        write_reports(records, options)
    elif options.format == "parquet":
        written(parquet_bytes(options.results, records, metrics), options.out)
    elif options.format == "vllm":
        written(b"".join(json_bytes(document, indent=None) for document in vllm.documents(records)), options.out)
    else:
        written(json_bytes(BY_METRIC[options.format](records, metrics, note)), options.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path, help="folder that `reprise run` wrote, or a file of records")
    parser.add_argument("--format", required=True, choices=["parquet", *BY_METRIC, *OF_REQUESTS])
    parser.add_argument("--metrics", help="as a,b (default: all)")
    parser.add_argument("--out", type=pathlib.Path, help="file to write, of llm-d a folder (default: standard output)")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)   # a reader that has gone ends this program, as it ends others
    try:
        export(options)
    except (OSError, ValueError, ImportError) as error:
        note(error)
        return 1
    return 0
