#!/usr/bin/env python3
"""Packs what a run measured for the repository: pack_record.py [--sample-digits N] RUN OUT

RUN is a folder that `reprise run --out` wrote, or a file: records (.jsonl), or any other .jsonl or .json. Each may be
packed already. OUT is a name that ends in .jsonl.gz, or in .json.gz for a .json.

Records are written with the keys that their run shares in one entry (results/run_entry.h), each point once, those of a
folder with the labels of its run.json; other files are packed unchanged. --sample-digits rounds their samples to so many
significant digits: a run of a thousand requests has thousands of them, whose last ten digits are noise that can't be packed.
Metrics are never rounded. The gzip data have no time and no name, so that the same records give the same file. The packed
file is read back and compared before it gets its name.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)


def line_of(value):
    """Returns JSON as the program writes it: keys in order, no spaces, every digit of a number."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def lines_of(those):
    """Returns the lines of records that have all their keys."""
    lines, written = [], set()
    for record in those:
        shared = {key: record[key] for key in record_reader.SHARED}
        run = hashlib.sha256(line_of(shared).encode()).hexdigest()[:16]
        if run not in written:
            written.add(run)
            lines.append(line_of(shared | {"schema": record_reader.SCHEMA, "run": run}))
        own = {key: value for key, value in record.items() if key not in record_reader.SHARED}
        lines.append(line_of(own | {"schema": record_reader.SCHEMA, "run": run}))
    return lines


def packed(text):
    out = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(text.encode("utf-8"))
    return out.getvalue()


def require_whole_groups(those, source):
    """Raises an error if the last group of points is incomplete, because groups are measured interleaved."""
    found = {}
    for record in those:
        found.setdefault((record["group"]["id"], record["group"]["of"]), set()).add(record["group"]["index"])
    for (group, of), indices in found.items():
        if len(indices) != of:
            raise ValueError(f"{source}: group {group} has {len(indices)} of its {of} records; finish the run first")


def without_schema(those):
    return [{key: value for key, value in record.items() if key != "schema"} for record in those]


def with_rounded_samples(those, digits):
    def rounded(value):
        return float(f"{value:.{digits}g}") if isinstance(value, float) else value

    return [record | {"samples": {metric: [rounded(value) for value in values] for metric, values in record["samples"].items()}}
            if "samples" in record else record for record in those]


def text_of_records(those, source, digits):
    if not those:
        raise ValueError(f"{source} holds no record")
    require_whole_groups(those, source)
    if digits is not None:
        those = with_rounded_samples(those, digits)
    lines = lines_of(those)
    if without_schema(record_reader.whole_records(lines, source)) != without_schema(those):
        raise ValueError(f"{source}: its records are not read back as they were; please report this")
    return "".join(line + "\n" for line in lines)


def packed_text(source, digits):
    """Returns the text to pack; digits are those of samples, or None for all."""
    if source.is_dir():
        return text_of_records(record_reader.read_folder(source), source, digits)
    text = record_reader.read_text(source)
    if ".jsonl" not in source.name:
        return text
    those = record_reader.whole_records(record_reader.lines_of(text), source)
    return text_of_records(those, source, digits) if all("point" in record for record in those) else text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample-digits", type=int, choices=range(7, 18), metavar="N", help="7 to 17; without it, all digits")
    parser.add_argument("run", type=pathlib.Path, metavar="RUN")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    options = parser.parse_args()
    ending = ".json.gz" if options.run.name.endswith((".json", ".json.gz")) else ".jsonl.gz"
    try:
        if not options.out.name.endswith(ending):
            raise ValueError(f"{options.out}: the name of a packed {options.run.name} must end in {ending}")
        text = packed_text(options.run, options.sample_digits)
        data = packed(text)
        if record_reader.unpacked(data, options.out) != text.encode("utf-8"):
            raise ValueError(f"{options.out}: it does not unpack to what was packed; please report this")
        beside = options.out.with_name(options.out.name + ".unfinished")
        beside.write_bytes(data)
        os.replace(beside, options.out)
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"pack_record.py: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: {len(text.encode())} bytes packed to {len(data)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
