"""A hub on this machine: the paths of Hugging Face's hub, on two ports, since large files come from another host there.

Tests switch faults on: Hub.broken (bytes after which the answers for a file break off), Hub.altered (files that
come with another content), Hub.busy (a count of answers with status 503), Hub.slow (files that stop before their end),
Hub.lists_hashes and Hub.sends_hashes (whether listings and answers have hashes), Hub.moved (the first port answers with status
308, which names the second), Hub.refusal (what listings answer instead).
"""
import hashlib
import http.server
import json
import threading
import time
import urllib.parse

COMMIT = "c" * 40
LFS_FROM = 1000  # bytes from which a file is large


class Hub:
    def __init__(self):
        self.repositories = {}  # (kind, name): {path: bytes}
        self.gated = set()
        self.plain = {}  # path: bytes, for files that are on no hub
        self.commit = COMMIT
        self.broken, self.altered, self.slow, self.busy = {}, set(), set(), 0
        self.lists_hashes = self.sends_hashes = True
        self.moved, self.refusal = False, None
        self.requests = []  # (method, host, path, headers)
        self.servers = [self.serve(), self.serve()]
        self.home, self.cdn = (f"http://127.0.0.1:{server.server_address[1]}" for server in self.servers)

    def serve(self):
        hub = self

        class Handler(Requests):
            of = hub
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def asked(self, text):
        return [request for request in self.requests if text in request[2]]


def facts(content):
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if len(content) < LFS_FROM:
        return {"size": len(content), "blobId": git}
    return {"size": len(content), "blobId": git,
            "lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}}


class Requests(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    of = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, has_body):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        self.of.requests.append((self.command, self.headers["Host"], path, dict(self.headers)))
        if self.of.busy > 0:
            self.of.busy -= 1
            return self.refuse(503)
        if self.of.moved and self.of.home.endswith(self.headers["Host"]):
            self.send_response(308)
            self.send_header("Location", self.of.cdn + self.path)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if path.startswith("/cdn/"):
            return self.send_file(path, self.of.plain[path], has_body)
        if path in self.of.plain:
            return self.send_file(path, self.of.plain[path], has_body)
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            return self.send_listing(parts)
        kind = "dataset" if parts[0] == "datasets" else "model"
        if kind == "dataset":
            parts = parts[1:]
        if len(parts) > 4 and parts[2] == "resolve":
            return self.resolve(kind, "/".join(parts[:2]), parts[3], "/".join(parts[4:]), has_body)
        return self.refuse(404)

    def refuse(self, status, code=None):
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_listing(self, parts):
        files = self.of.repositories.get((parts[1].rstrip("s"), "/".join(parts[2:4])))
        if files is None:
            return self.refuse(401, "RepoNotFound")  # as the hub does, so that nobody learns of private ones
        siblings = [{"rfilename": path, **(facts(content) if self.of.lists_hashes else {})} for path, content in files.items()]
        body = json.dumps(self.of.refusal or {"sha": self.of.commit, "siblings": siblings}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def resolve(self, kind, name, revision, path, has_body):
        content = self.of.repositories.get((kind, name), {}).get(path)
        if name in self.of.gated and self.headers.get("Authorization") != "Bearer good":
            has_token = "Authorization" in self.headers
            return self.refuse(403 if has_token else 401, "GatedRepo")
        if content is None:
            return self.refuse(404, "EntryNotFound")
        known = facts(content)
        etag = known["lfs"]["sha256"] if "lfs" in known else known["blobId"]
        if not self.of.sends_hashes:
            etag = "unknown"
        if "lfs" not in known:
            return self.send_file(path, content, has_body, etag)
        self.of.plain["/cdn/" + path] = content
        self.send_response(302)
        for header, value in (("Location", f"{self.of.cdn}/cdn/{path}"), ("X-Repo-Commit", revision), ("Content-Length", "0"),
                              ("X-Linked-Etag", f'"{etag}"'), ("X-Linked-Size", str(len(content)))):
            self.send_header(header, value)
        self.end_headers()
        return None

    def send_file(self, path, content, has_body, etag=None):
        name = path.removeprefix("/cdn/")
        if name in self.of.altered:
            content = content[:-1] + bytes([content[-1] ^ 1])
        first = 0
        if "Range" in self.headers:
            first = int(self.headers["Range"].removeprefix("bytes=").split("-")[0])
            if first >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("X-Repo-Commit", self.of.commit)
        self.send_header("ETag", f'"{etag or hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        if has_body:
            self.send_body(name, content, first)
        return None

    def send_body(self, name, content, first):
        end = min(len(content), self.of.broken.get(name, len(content)))
        if name in self.of.slow:
            self.wfile.write(content[first:len(content) // 2])
            self.wfile.flush()
            while name in self.of.slow:
                time.sleep(0.05)
            self.close_connection = True
            return
        self.wfile.write(content[first:end])
        if end < len(content):
            self.close_connection = True
