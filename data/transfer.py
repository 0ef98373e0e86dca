"""Brings files over HTTPS: resumed after a break, checked before use.

Files of the hub are brought by huggingface_hub where that can be imported (it knows the hub's faster storage), all others by
the standard library. Either way the same check() decides whether the file is the one that was meant.
"""
import fnmatch
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from problem import Problem, size_text, write_problem

try:
    import huggingface_hub
    if [int(part) for part in re.findall(r"\d+", huggingface_hub.__version__)[:2]] < [0, 23]:
        huggingface_hub = None  # older versions would leave links in a folder of ours
except (ImportError, AttributeError):  # AttributeError: what was imported is a folder of that name
    huggingface_hub = None

CHUNK = 1 << 20
TIMEOUT_S = 60
TRIES = 4  # in a row that bring no further byte; a break after some bytes does not count
GITHUB = "https://raw.githubusercontent.com"
# The files of a model repository that the program reads, and licences. Other folders hold other formats.
MODEL_FILES = ("*.safetensors", "*.json", "tokenizer.model", "vocab.txt", "merges.txt", "spm.model",
               "chat_template.jinja", "LICENSE*", "USE_POLICY.md")
MODEL_FOLDER_FILES = ("1_Pooling/config.json",)
OTHER_FORMATS = ("consolidated*",)  # Mistral's own names for the same weights
CONVERT = """\
python3 -c "import sys, transformers as t; [c.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[2]) for c in \
(t.AutoModel{head}, t.AutoTokenizer)]" {repository} {place}"""


class Break(Exception):
    """A transfer stopped; another try may go on."""


def endpoint():
    named = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"
    if not re.match(r"https?://[^/]", named):
        raise Problem(f'HF_ENDPOINT is "{named}", which is no address: it begins with https:// or http://')
    return named


def token():
    named = os.environ.get("HF_TOKEN", "").strip()
    return named or (huggingface_hub.get_token() if huggingface_hub else None)


class KeepTokenAtHome(urllib.request.HTTPRedirectHandler):
    """The hub sends large files from other hosts, which must not see the token. Nor may anybody who listens to http."""
    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302  # which Python 3.10 does not follow

    def redirect_request(self, request, answer, code, *rest):
        new = super().redirect_request(request, answer, 307 if code == 308 else code, *rest)
        if new is not None and urllib.parse.urlsplit(new.full_url)[:2] != urllib.parse.urlsplit(request.full_url)[:2]:
            new.remove_header("Authorization")
        return new


class StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # the redirection itself is the answer


def opened(url, repository=None, headers=None, method="GET", redirects=KeepTokenAtHome):
    """The answer to a request. Raises Problem for a refusal, Break for what another try may overcome."""
    request = urllib.request.Request(url, headers={"User-Agent": "reprise-data", **(headers or {})}, method=method)
    if repository and token():
        request.add_header("Authorization", f"Bearer {token()}")
    try:
        return urllib.request.build_opener(redirects).open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code == 416 or redirects is StayHere and error.code < 400:
            raise
        raise refusal(error.code, url, repository) from error
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        raise Break(unreachable(url, getattr(error, "reason", error))) from error


def unreachable(url, reason):
    return (f"cannot reach {urllib.parse.urlsplit(url).netloc}: {reason}. Is there a network, or a proxy to name in "
            "https_proxy? HF_ENDPOINT names a mirror of the hub.")


def refusal(status, url, repository):
    page = f"{endpoint()}/{repository}"
    if status in (401, 403) and repository:
        if token():
            return Problem(f"{repository} is gated, or is not there, and the account of HF_TOKEN may not read it: accept its "
                           f"licence at {page}, and let the token read gated repositories.")
        return Problem(f"{repository} is gated, or is not there: accept its licence at {page}, make a token at "
                       f"{endpoint()}/settings/tokens and set HF_TOKEN to it.")
    if status == 404:
        return Problem(f"{url} is not there (404). Has its owner moved it? data/catalogue.json names the place.")
    if status == 429 or status >= 500:
        return Break(f"{url} answered with status {status}: the server is busy. Try again later.")
    return Problem(f"{url} answered with status {status}")


def patiently(what, pause_s):
    """Calls what() up to TRIES times, again after each Break. Raises the last Break's sentence as a Problem."""
    for attempt in range(TRIES):
        try:
            return what()
        except Break as stopped:
            if attempt == TRIES - 1:
                raise Problem(str(stopped)) from stopped
            time.sleep(pause_s * 2**attempt)
    return None


# ---- what to bring

def github_url(repository, commit, path):
    return f"{GITHUB}/{repository}/{commit}/{urllib.parse.quote(path)}"


def hub_url(download):
    place = ("datasets/" if download["type"] == "dataset" else "") + download["repository"]
    return f"{endpoint()}/{place}/resolve/{download['revision']}/{urllib.parse.quote(download['path'])}"


def hub_listing(repository, kind, revision, pause_s):
    """The commit of a revision, and its files: {path: {"size", "sha256" or "git_sha1"}} as far as the hub tells them."""
    url = f"{endpoint()}/api/{kind}s/{repository}/revision/{urllib.parse.quote(revision, '')}?blobs=true"

    def ask():
        with opened(url, repository) as answer:
            try:
                found = json.load(answer)
            except (ValueError, http.client.HTTPException, OSError) as error:
                raise Break(f"{url} did not answer with a list of files: {error}") from error
        if not is_listing(found):
            raise Problem(f"{url} did not answer with a list of files: {json.dumps(found)[:200]}. Is HF_ENDPOINT a mirror "
                          "of the hub?")
        return found
    answer = patiently(ask, pause_s)
    files = {}
    for file in answer["siblings"]:
        lfs = file.get("lfs") or {}
        facts = {"size": lfs.get("size", file.get("size")), "sha256": lfs.get("sha256"),
                 "git_sha1": None if lfs else file.get("blobId")}
        files[file["rfilename"]] = {key: value for key, value in facts.items() if value is not None}
    return answer["sha"], files


def is_listing(found):
    return isinstance(found, dict) and isinstance(found.get("sha"), str) and isinstance(found.get("siblings"), list) and all(
        isinstance(file, dict) and isinstance(file.get("rfilename"), str) and isinstance(file.get("lfs") or {}, dict)
        for file in found["siblings"])


def told_by_headers(download):
    """The size and the hash of a hub's file, as the hub's own answer states them, before any redirection."""
    def ask():
        try:
            with opened(download["url"], download["repository"], method="HEAD", redirects=StayHere) as answer:
                return answer.headers
        except urllib.error.HTTPError as redirection:
            return redirection.headers
    headers = patiently(ask, 1)
    etag = headers.get("X-Linked-Etag", headers.get("ETag", "")).removeprefix("W/").strip('"')
    kind = {64: "sha256", 40: "git_sha1"}.get(len(etag))
    if kind is None:
        raise Problem(f"{download['url']} comes without a checksum, so nobody could tell whether it arrived whole. Is "
                      "HF_ENDPOINT a mirror that leaves it out?")
    size = headers.get("X-Linked-Size")
    return {kind: etag, **({"size": int(size)} if size else {})}


def model_files(repository, files, place):
    """The paths of the files that the program reads of a model repository."""
    chosen = [path for path in files if path in MODEL_FOLDER_FILES or "/" not in path and any(
        fnmatch.fnmatchcase(path, name) for name in MODEL_FILES) and not any(
            fnmatch.fnmatchcase(path, name) for name in OTHER_FORMATS)]
    if not any(path.endswith(".safetensors") for path in chosen):
        weights = sorted(path for path in files if path.endswith((".bin", ".pt", ".pth")))
        if weights:
            head = "ForSequenceClassification" if "sst" in repository.lower() else ""
            raise Problem(f"{repository} has its weights only as {weights[0]}, and reading such a file runs what is in it. "
                          "Convert it yourself where that is no danger (needs torch and transformers): "
                          + CONVERT.format(head=head, repository=repository, place=place))
        raise Problem(f"{repository} has no *.safetensors, so it is no model that this program reads")
    return sorted(chosen)


def downloads_of(entry, place, pause_s):
    """The files to bring for an entry, with all that is known of them."""
    found = []
    for source in entry["sources"]:
        if "hub" in source:
            commit, files = hub_listing(source["hub"], "model", source.get("revision", "main"), pause_s)
            found += [hub_download("model", source["hub"], commit, path, files[path])
                      for path in model_files(source["hub"], files, place)]
        elif "dataset" in source:
            commit, files = hub_listing(source["dataset"], "dataset", source.get("revision", "main"), pause_s)
            for path, facts in source["files"].items():
                if path not in files:
                    raise Problem(f"{source['dataset']} has no {path} at {commit}")
                found.append(hub_download("dataset", source["dataset"], commit, path, {**files[path], **facts}))
        elif "github" in source:
            for path, facts in source["files"].items():
                url = github_url(source["github"], source["commit"], path)
                found.append({"url": url, "name": pathlib.PurePosixPath(path).name, **facts})
        else:
            found.append({**source, "name": pathlib.PurePosixPath(urllib.parse.urlsplit(source["url"]).path).name})
    return found


def hub_download(kind, repository, commit, path, facts):
    download = {"type": kind, "repository": repository, "revision": commit, "path": path,
                "name": path if kind == "model" else pathlib.PurePosixPath(path).name, **facts}
    download["url"] = hub_url(download)
    return download if "sha256" in download or "git_sha1" in download else {**download, **told_by_headers(download)}


# ---- bringing it

def check(file, download):
    """The SHA-256 of a file. Raises Problem, after removing the file, if it is not the one that was meant."""
    size = file.stat().st_size
    sha256, git = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size)
    with open(file, "rb") as stream:
        while block := stream.read(CHUNK):
            sha256.update(block)
            if "git_sha1" in download:
                git.update(block)
    found = {"size": size, "sha256": sha256.hexdigest(), "git_sha1": git.hexdigest()}
    for fact in ("size", "sha256", "git_sha1"):
        if fact in download and download[fact] != found[fact]:
            file.unlink()
            raise Problem(f"{download['url']} is not the file that was meant: its {fact} is {found[fact]}, expected "
                          f"{download[fact]}. It was removed. Try again; if it stays so, do not trust that source.")
    return found["sha256"]


def bring(download, part, progress, pause_s):
    """Leaves the file in `part`, whole and checked; returns its SHA-256."""
    if huggingface_hub is not None and "repository" in download:
        progress(download["name"], 0, download.get("size"))
        bring_by_library(download, part, progress, pause_s)
    else:
        bring_by_https(download, part, progress, pause_s)
    return check(part, download)


def bring_by_library(download, part, progress, pause_s):
    """Brings a file by huggingface_hub. If the library fails without an answer of the hub, brings it by HTTPS, because the
    library does not follow every mirror."""
    place = part.parent / "huggingface_hub"
    try:
        path = huggingface_hub.hf_hub_download(download["repository"], download["path"], repo_type=download["type"],
                                               revision=download["revision"], local_dir=place, endpoint=endpoint(),
                                               token=token() or False)
        os.replace(path, part)
    except Exception as error:  # the library's HTTP client has classes of its own
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            raise as_problem(refusal(status, download["url"], download["repository"])) from error
        if isinstance(error, OSError) and error.errno is not None:
            raise write_problem(error, part.parent, download["name"], download.get("size")) from error
        bring_by_https(download, part, progress, pause_s)


def as_problem(error):
    return error if isinstance(error, Problem) else Problem(str(error))


def bring_by_https(download, part, progress, pause_s):
    tries = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            return receive(download, part, before, progress)
        except Break as stopped:
            tries = 0 if part.exists() and part.stat().st_size > before else tries + 1
            if tries == TRIES:
                raise Problem(f"{stopped} What came is kept: run the same command again, which goes on there.") from stopped
            time.sleep(pause_s * 2**tries)


def receive(download, part, before, progress):
    """Appends the rest of the file to `part`."""
    size = download.get("size")
    if size is not None and before >= size:
        return
    headers = {"Range": f"bytes={before}-"} if before else {}
    try:
        answer = opened(download["url"], download.get("repository"), {**headers, "Accept-Encoding": "identity"})
    except urllib.error.HTTPError as error:  # 416: there is nothing after these bytes
        if size is None and error.headers.get("Content-Range", "") == f"bytes */{before}":
            return
        part.unlink()
        raise Break(f"{download['url']} is shorter than what an earlier try left; it was removed.") from error
    with answer:
        if answer.status != 206 or not answer.headers.get("Content-Range", "").startswith(f"bytes {before}-"):
            before = 0  # the server sends the file from its beginning
        length = answer.headers.get("Content-Length")
        end = before + int(length) if length is not None else size
        append(answer, part, before, end, download, progress)


def append(answer, part, before, end, download, progress):
    done = before
    with open(part, "r+b" if before else "wb") as stream:
        stream.truncate(before)
        stream.seek(before)
        while True:
            try:
                block = answer.read1(CHUNK)
            except (http.client.HTTPException, OSError) as error:
                raise Break(f"{download['url']} broke off after {done} bytes: {error}.") from error
            if not block:
                break
            try:
                stream.write(block)
                stream.flush()
            except OSError as error:
                raise write_problem(error, part.parent, download["name"], end and end - done) from error
            done += len(block)
            progress(download["name"], done, end)
        os.fsync(stream.fileno())
    if end is not None and done < end:
        raise Break(f"{download['url']} broke off after {done} of {end} bytes.")


class Progress:
    """One line on a terminal, or one line a file where there is none."""

    def __init__(self, entry, stream=sys.stderr):
        self.entry, self.stream, self.shown_s, self.named = entry, stream, 0.0, None

    def __call__(self, name, done, size):
        if not self.stream.isatty():
            if self.named != name:
                print(f"{self.entry}: {name}" + (f", {size_text(size)}" if size else ""), file=self.stream, flush=True)
            self.named = name
            return
        now = time.monotonic()
        if now - self.shown_s < 0.2 and done != size:
            return
        self.shown_s = now
        share = f"{100 * done // size} % of {size_text(size)}" if size else size_text(done)
        width = shutil.get_terminal_size().columns
        print(f"\r{f'{self.entry}: {name} {share}'[:width - 1]:<{width - 1}}", end="", file=self.stream, flush=True)

    def end(self):
        if self.stream.isatty() and self.shown_s:
            print(file=self.stream)
