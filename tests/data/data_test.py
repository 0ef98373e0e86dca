#!/usr/bin/env python3
"""data_test.py TREE: tests `reprise data` against a hub on this machine, with huggingface_hub and without."""
import hashlib
import io
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request
import zipfile

from hub_server import Hub

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TREE / "data"))
import transfer  # noqa: E402  (in another folder of the tree)

TOOL = TREE / "data" / "reprise_data.py"
PYTHON = os.environ.get("REPRISE_PYTHON") or sys.executable
HAS_LIBRARY = subprocess.run([PYTHON, "-c", "import sys, transfer; sys.exit(transfer.huggingface_hub is None)"],
                             cwd=TREE / "data", capture_output=True, check=False).returncode == 0


def bytes_of(seed, size):
    return b"".join(hashlib.sha256(f"{seed} {i}".encode()).digest() for i in range(size // 32 + 1))[:size]


WEIGHTS = bytes_of("weights", 300_000)
MODEL = {"config.json": b'{"model_type": "llama"}', "tokenizer.json": b'{"a": "b"}', "model.safetensors": WEIGHTS,
         "README.md": b"not read", "pytorch_model.bin": bytes_of("bin", 2000), "onnx/model.json": b"{}",
         "consolidated.safetensors": bytes_of("other", 2000), "1_Pooling/config.json": b"{}",
         "chat_template.jinja": b"{{ messages }}"}
KEPT = {"config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json", "chat_template.jinja"}


def tar_of(members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def zip_of(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


class Case(unittest.TestCase):
    """A hub, a catalogue and an empty data folder for each test."""
    has_library = False

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="reprise-data-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.hub.repositories[("model", "org/tiny")] = dict(MODEL)
        self.data = self.folder / "data"
        self.entries = []
        self.add("tiny", [{"hub": "org/tiny"}], "checkpoints/tiny")
        (self.folder / "experiments").mkdir()
        blocked = self.folder / "blocked"
        blocked.mkdir()
        (blocked / "huggingface_hub.py").write_text("raise ImportError")
        self.environment = {**os.environ, "HF_ENDPOINT": self.hub.home, "REPRISE_DATA": str(self.data),
                            "XDG_CACHE_HOME": str(self.folder / "cache"), "HF_HOME": str(self.folder / "hf"),
                            "no_proxy": "127.0.0.1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        self.environment.pop("HF_TOKEN", None)
        self.environment.pop("HF_HUB_OFFLINE", None)
        if not self.has_library:
            self.environment["PYTHONPATH"] = str(blocked)

    def add(self, name, sources, path=None, **more):
        self.entries = [entry for entry in self.entries if entry["name"] != name]
        self.entries.append({"name": name, "kind": "data", "path": path or name, "licence": "MIT", "sources": sources, **more})

    def plain(self, name, content, **more):
        """Makes a file outside the hub, and returns its source for a catalogue."""
        self.hub.plain["/" + name] = content
        return {"url": f"{self.hub.home}/{name}", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **more}

    def command(self, arguments):
        catalogue = self.folder / "catalogue.json"
        catalogue.write_text(json.dumps({"entries": self.entries}))
        return [PYTHON, str(TOOL), "--catalogue", str(catalogue), "--experiments", str(self.folder / "experiments"),
                "--pause-s", "0.01", *arguments]

    def run_tool(self, *arguments, status=0, **options):
        done = subprocess.run(self.command(arguments), capture_output=True, text=True, env=self.environment, timeout=120,
                              check=False, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

    def listed(self, name="tiny"):
        return next(row for row in json.loads(self.run_tool("list", "--json")) if row["name"] == name)

    def assert_not_there(self, name="tiny", path="checkpoints/tiny"):
        self.assertFalse((self.data / path).exists())
        self.assertEqual(self.listed(name)["here"], "no")

    def assert_whole(self):
        place = self.data / "checkpoints/tiny"
        found = {file.relative_to(place).as_posix(): file.read_bytes() for file in place.rglob("*") if file.is_file()}
        self.assertEqual(found, {name: MODEL[name] for name in KEPT})
        self.assertFalse((self.data / ".fetching/tiny").exists())
        self.assertEqual(self.listed()["here"], "yes")


class Hubs(Case):
    """Tests what downloads from a hub must do, with huggingface_hub and without. Here they run without it; the class
    Library below runs the same tests with it."""

    def test_a_checkpoint_arrives_with_what_is_read_of_it_and_nothing_else(self):
        text = self.run_tool("get", "tiny")
        self.assertIn(f"tiny is there: {self.data}/checkpoints/tiny", text)
        self.assert_whole()
        manifest = json.loads((self.data / ".reprise/tiny.json").read_text())
        self.assertEqual({download["revision"] for download in manifest["downloads"]}, {self.hub.commit})
        self.assertIn("as fetched", self.run_tool("check"))
        asked = len(self.hub.requests)
        self.run_tool("get", "tiny")
        self.assertEqual(len(self.hub.requests), asked)

    def test_only_the_hub_sees_the_token(self):
        self.hub.gated.add("org/tiny")
        self.environment["HF_TOKEN"] = "good"
        self.run_tool("get", "tiny")
        self.assert_whole()
        self.assertTrue(any("Authorization" in headers or "authorization" in headers
                            for _, _, path, headers in self.hub.requests if "/resolve/" in path))
        for _, _, _, headers in self.hub.asked("/cdn/"):
            self.assertNotIn("authorization", {name.lower() for name in headers})

    def test_a_gated_one_says_where_to_accept_the_licence(self):
        self.hub.gated.add("org/tiny")
        text = self.run_tool("get", "tiny", status=1)
        self.assertIn(f"accept its licence at {self.hub.home}/org/tiny", text)
        self.assertIn("set HF_TOKEN", text)
        self.assert_not_there()
        self.environment["HF_TOKEN"] = "bad"
        self.assertIn("the account of HF_TOKEN may not read it", self.run_tool("get", "tiny", status=1))
        self.assert_not_there()

    def test_one_that_is_not_there(self):
        self.add("gone", [{"hub": "org/gone"}])
        self.assertIn("org/gone is gated, or is not there", self.run_tool("get", "gone", status=1))
        self.assert_not_there("gone", "gone")

    def test_a_file_that_vanished_after_the_listing(self):
        self.add("set", [{"dataset": "org/set", "files": {"a.csv": {}}}], "set.csv")
        self.hub.repositories[("dataset", "org/set")] = {"b.csv": b"1"}
        self.assertIn("org/set has no a.csv", self.run_tool("get", "set", status=1))

    def test_another_content_is_removed_and_said(self):
        self.hub.altered.add("model.safetensors")
        text = self.run_tool("get", "tiny", status=1)
        self.assertIn("is not the file that was meant: its sha256 is", text)
        self.assertIn("It was removed", text)
        self.assert_not_there()
        self.assertEqual(list((self.data / ".fetching/tiny").glob("*.part")), [])
        self.hub.altered.clear()
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_a_small_file_is_checked_by_its_git_hash(self):
        self.hub.altered.add("config.json")
        self.assertIn("its git_sha1 is", self.run_tool("get", "tiny", status=1))
        self.assert_not_there()

    def test_hashes_that_the_listing_lacks_are_told_by_the_answers(self):
        self.hub.lists_hashes = False
        self.run_tool("get", "tiny")
        self.assert_whole()
        shutil.rmtree(self.data)
        self.hub.altered.add("model.safetensors")
        self.assertIn("its sha256 is", self.run_tool("get", "tiny", status=1))
        shutil.rmtree(self.data)
        self.hub.sends_hashes = False
        self.assertIn("comes without a checksum", self.run_tool("get", "tiny", status=1))
        self.assert_not_there()

    def test_pickled_weights_are_refused_before_anything_is_fetched(self):
        self.hub.repositories[("model", "org/tiny")] = {"config.json": b"{}", "pytorch_model.bin": bytes_of("bin", 2000)}
        text = self.run_tool("get", "tiny", status=1)
        self.assertIn("only as pytorch_model.bin", text)
        self.assertIn("save_pretrained", text)
        self.assertIn(f"org/tiny {self.data}/checkpoints/tiny", text)
        self.assertEqual(self.hub.asked("/resolve/"), [])

    def test_a_killed_fetch_is_invisible_and_goes_on(self):
        self.hub.slow.add("model.safetensors")
        with subprocess.Popen(self.command(["get", "tiny"]), env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tool:
            part = self.wait_for_half()
            tool.send_signal(signal.SIGKILL)
        self.hub.slow.clear()
        self.assert_not_there()
        self.hub.requests.clear()
        self.run_tool("get", "tiny")
        self.assert_whole()
        self.assertEqual(self.hub.asked("/resolve/" + self.hub.commit + "/config.json"), [])  # it was there
        if part is not None:
            self.assertEqual([headers.get("Range") for _, _, _, headers in self.hub.asked("/cdn/")], [f"bytes={part}-"])

    def wait_for_half(self):
        """Waits until half of the weights have come; returns how many bytes are kept for the next run."""
        for _ in range(400):
            parts = [file.stat().st_size for file in (self.data / ".fetching/tiny").glob("*.part")]
            if len(WEIGHTS) // 2 in parts:
                return len(WEIGHTS) // 2
            time.sleep(0.05)
        return self.fail("the weights never came")

    def test_a_hub_out_of_reach_names_the_remedies(self):
        self.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
        text = self.run_tool("get", "tiny", status=1)
        self.assertIn("cannot reach 127.0.0.1:9", text)
        self.assertIn("HF_ENDPOINT", text)
        self.assert_not_there()

    def test_all_files_are_of_the_revision_that_the_first_run_found(self):
        self.hub.altered.add("tokenizer.json")
        self.run_tool("get", "tiny", status=1)
        self.hub.altered.clear()
        first, self.hub.commit = self.hub.commit, "d" * 40
        self.run_tool("get", "tiny")
        manifest = json.loads((self.data / ".reprise/tiny.json").read_text())
        self.assertEqual({download["revision"] for download in manifest["downloads"]}, {first})

    def test_a_shard_that_the_index_names_must_be_there(self):
        index = b'{"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}'
        self.hub.repositories[("model", "org/tiny")]["model.safetensors.index.json"] = index
        self.assertIn("names model-2.safetensors, which the repository does not have", self.run_tool("get", "tiny", status=1))
        self.assert_not_there()


@unittest.skipUnless(HAS_LIBRARY, f"{PYTHON} has no huggingface_hub 0.23")
class Library(Hubs):
    has_library = True

    def test_it_is_the_library_that_asks(self):
        self.run_tool("get", "tiny")
        agents = [headers.get("User-Agent", headers.get("user-agent", "")) for _, _, path, headers in self.hub.requests]
        self.assertTrue(any("hf_hub" in agent for agent in agents), agents)

    def wait_for_half(self):  # the library keeps its half under a name of its own
        for _ in range(400):
            if self.hub.asked("/cdn/model.safetensors"):
                time.sleep(0.3)
                return None
            time.sleep(0.05)
        return self.fail("the weights were never asked for")


class Https(Case):
    """Tests downloads without the library (interruptions, ranges, full disks), and files outside the hub."""

    def test_a_break_is_mended_by_a_range(self):
        self.hub.broken["model.safetensors"] = 100_000
        text = self.run_tool("get", "tiny", status=1)
        self.assertIn("broke off after 100000 of 300000 bytes", text)
        self.assertIn("run the same command again", text)
        self.assert_not_there()
        self.hub.broken.clear()
        self.hub.requests.clear()
        self.run_tool("get", "tiny")
        self.assert_whole()
        self.assertEqual([headers.get("Range") for _, _, _, headers in self.hub.asked("/cdn/")], ["bytes=100000-"])

    def test_a_busy_server_is_asked_again(self):
        self.hub.busy = 2
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_a_mirror_that_sends_elsewhere_for_good_is_followed(self):
        (self.folder / "blocked/sitecustomize.py").write_text(   # as in Python 3.10
            "import urllib.error, urllib.request\n"
            "of = urllib.request.HTTPRedirectHandler\n"
            "redirect = of.redirect_request\n"
            "def refuse_308(self, request, answer, code, *rest):\n"
            "    if code == 308:\n"
            "        raise urllib.error.HTTPError(request.full_url, code, *rest[:2], answer)\n"
            "    return redirect(self, request, answer, code, *rest)\n"
            "of.redirect_request = refuse_308\n"
            "if hasattr(of, 'http_error_308'):\n"
            "    del of.http_error_308\n")
        self.hub.moved = True
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_the_token_stays_with_the_scheme_and_the_host(self):
        for url, is_kept in (("https://hub/b", True), ("http://hub/b", False), ("https://cdn/b", False)):
            request = urllib.request.Request("https://hub/a", headers={"Authorization": "Bearer good"})
            new = transfer.KeepTokenAtHome().redirect_request(request, None, 302, "", {}, url)
            self.assertEqual("Authorization" in new.headers, is_kept, url)

    def test_a_library_that_is_old_or_fails_is_not_needed(self):
        stub = self.folder / "blocked/huggingface_hub.py"
        fails = "def hf_hub_download(*_, **__):\n    raise OSError('no metadata')\n"
        for text in ("__version__ = '0.22.2'\n" + fails, "__version__ = '1.0.0.rc1'\ndef get_token():\n    pass\n" + fails):
            stub.write_text(text)
            self.run_tool("get", "tiny")
            self.assert_whole()
            shutil.rmtree(self.data)

    def test_an_address_without_its_scheme_is_said(self):
        for address in ("hub.example.org", "hub.example.org:80", "https://"):
            self.environment["HF_ENDPOINT"] = address
            self.assertIn(f'HF_ENDPOINT is "{address.rstrip("/")}", which is no address: it begins with https://',
                          self.run_tool("get", "tiny", status=1))

    def test_a_mirror_that_answers_with_something_else_is_said(self):
        for answer in ({"error": "try the other mirror"}, [1], {"sha": "c", "siblings": [{}]}):
            self.hub.refusal = answer
            text = self.run_tool("get", "tiny", status=1)
            self.assertIn(f"did not answer with a list of files: {json.dumps(answer)}. Is HF_ENDPOINT a mirror", text)

    def test_a_server_without_ranges_sends_all_again(self):
        content = bytes_of("a", 5000)
        self.add("set", [self.plain("a.csv", content)], "set.csv")
        self.hub.broken["/a.csv"] = 2000
        self.run_tool("get", "set", status=1)
        part = next((self.data / ".fetching/set").glob("*.part"))
        part.write_bytes(content + b"more")  # longer than the file, as if the source had been longer before
        self.hub.broken.clear()
        self.assertIn("its size is 5004", self.run_tool("get", "set", status=1))
        self.run_tool("get", "set")
        self.assertEqual((self.data / "set.csv").read_bytes(), content)

    def test_a_disk_too_small_is_said_before_the_first_byte(self):
        self.add("huge", [{**self.plain("huge.csv", b"1"), "size": 10**16}])
        text = self.run_tool("get", "huge", status=1)
        self.assertIn("huge needs 1e+07 GB on the disk of", text)
        self.assertEqual(self.hub.asked("huge.csv"), [])
        self.add("gone", [{"hub": "org/gone"}])
        text = self.run_tool("get", "gone", "huge", status=1)  # what else keeps files from coming
        self.assertIn("huge needs 1e+07 GB", text)
        self.assertIn("gone: org/gone is gated, or is not there", text)

    def test_a_disk_that_fills_up_keeps_what_came(self):
        limit = 120_000
        text = self.run_tool("get", "tiny", status=1,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
        self.assertIn("no space left for model.safetensors", text)
        self.assertIn("are free", text)
        self.assertIn("more are needed", text)
        self.assert_not_there()
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_a_quota_that_is_used_up_is_no_full_disk(self):
        (self.folder / "blocked/sitecustomize.py").write_text(
            "import builtins, errno, io\n"
            "class Refused(io.BufferedWriter):\n"
            "    def write(self, _):\n"
            "        raise OSError(errno.EDQUOT, 'Disk quota exceeded')\n"
            "usual = open\n"
            "def opened(file, mode='r', *rest, **more):\n"
            "    stream = usual(file, mode, *rest, **more)\n"
            "    return Refused(stream.detach()) if str(file).endswith('.part') and mode == 'wb' else stream\n"
            "builtins.open = opened\n")
        self.add("set", [self.plain("set.csv", bytes(5000))], "set.csv")
        text = self.run_tool("get", "set", status=1)
        self.assertIn("no space left for set.csv", text)
        self.assertIn("your quota there is used up; 5 kB more are needed", text)
        self.assertNotIn("are free", text)

    def test_a_disk_too_full_for_a_plan(self):
        text = self.run_tool("get", "tiny", status=1,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY)))
        self.assertIn(f"tiny: no space left for tiny in {self.data}", text)
        self.assert_not_there()

    def test_a_small_disk_of_its_own(self):
        """Tests a real ENOSPC, on a file system of 256 kB, which only root may mount."""
        inner = " ".join(f"'{word}'" for word in self.command(["get", "tiny"]))
        script = f"mkdir -p {self.data} && mount -t tmpfs -o size=256k none {self.data} && exec {inner}"
        if subprocess.run(["unshare", "-m", "sh", "-c", f"mkdir -p {self.data} && mount -t tmpfs none {self.data}"],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("this user may not mount a file system")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=self.environment,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tiny needs 300 kB on the disk of", done.stderr)
        self.hub.repositories[("model", "org/tiny")]["model.safetensors"] = WEIGHTS
        self.add("tiny", [{"url": f"{self.hub.home}/unknown.csv", "sha256": hashlib.sha256(WEIGHTS).hexdigest()}], "tiny.csv")
        self.hub.plain["/unknown.csv"] = WEIGHTS
        inner = " ".join(f"'{word}'" for word in self.command(["get", "tiny"]))
        script = f"mkdir -p {self.data} && mount -t tmpfs -o size=256k none {self.data} && exec {inner}"
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=self.environment,
                              check=False)
        self.assertIn("no space left for unknown.csv", done.stderr)

    def test_a_file_that_is_gone(self):
        self.add("set", [{"url": self.hub.home + "/nothing.csv", "sha256": "0" * 64}], "set.csv")
        self.assertIn("/nothing.csv is not there (404)", self.run_tool("get", "set", status=1))

    def test_archives_give_the_members_that_are_named(self):
        content = {"data/test/a_test.csv": b"1", "data/dev/a_dev.csv": b"2", "data/other/b.csv": b"3",
                   "data/test/../x_test.csv": b"4"}
        self.add("tar", [self.plain("a.tar", tar_of(content), unpack={"data/test/*_test.csv": "", "data/dev/*": "dev/"})])
        self.add("zip", [self.plain("a.zip", zip_of(content), unpack={"data/test/a_*": "", "data/dev/*": "dev/"})])
        self.run_tool("get", "tar", "zip")
        self.assertEqual({file.relative_to(self.data / "tar").as_posix(): file.read_bytes()
                          for file in (self.data / "tar").rglob("*.csv")},
                         {"a_test.csv": b"1", "dev/a_dev.csv": b"2", "x_test.csv": b"4"})
        self.assertEqual((self.data / "zip/dev/a_dev.csv").read_bytes(), b"2")
        self.assertIn("as fetched", self.run_tool("check", "tar", "zip"))

    def test_an_archive_with_another_layout_is_said(self):
        self.add("tar", [self.plain("a.tar", tar_of({"a": b"1"}), unpack={"a": "", "b/*": ""})])
        self.assertIn("a.tar has no b/*", self.run_tool("get", "tar", status=1))
        self.assert_not_there("tar", "tar")
        self.add("tar", [self.plain("b.tar", b"no archive", unpack={"a": ""})])
        self.assertIn("is no archive that can be read", self.run_tool("get", "tar", status=1))

    def test_texts_are_taken_out_of_a_source_without_running_it(self):
        source = b'raise SystemExit(1)\nprompt = """\nTwo\nlines"""\nother = 1\n'
        self.add("prompts", [self.plain("p.py", source, constants={"prompt": "first.txt"})])
        self.run_tool("get", "prompts")
        self.assertEqual((self.data / "prompts/first.txt").read_bytes(), b"\nTwo\nlines")
        self.assertEqual(os.listdir(self.data / "prompts"), ["first.txt"])

    def test_files_of_several_sources_become_visible_as_one(self):
        self.hub.repositories[("dataset", "org/set")] = {"a.csv": b"1,2"}
        self.add("set", [{"dataset": "org/set", "files": {"a.csv": {"to": "data/a.csv"}}},
                         self.plain("b.json", b"{}", to="config/b.json")])
        self.hub.altered.add("/b.json")
        self.run_tool("get", "set", status=1)
        self.assert_not_there("set", "set")
        self.hub.altered.clear()
        self.run_tool("get", "set")
        self.assertEqual((self.data / "set/data/a.csv").read_bytes(), b"1,2")
        self.assertEqual((self.data / "set/config/b.json").read_bytes(), b"{}")

    def test_a_fetch_goes_on_with_the_files_of_a_catalogue_that_changed(self):
        whole = [self.plain("a.csv", b"1,2"), self.plain("dropped.csv", b"3")]
        self.add("set", [*whole, self.plain("b.json", b"{}")])
        self.hub.altered.add("/b.json")
        self.run_tool("get", "set", status=1)
        self.add("set", [self.plain("c.json", b"[]"), whole[0]])
        self.hub.requests.clear()
        self.run_tool("get", "set")
        self.assertEqual(sorted(os.listdir(self.data / "set")), ["a.csv", "c.json"])
        self.assertEqual([path for _, _, path, _ in self.hub.requests], ["/c.json"])


class Keeping(Case):
    """Tests data that is there already: checking it, repairing it, and folders that the user made."""

    def setUp(self):
        super().setUp()
        self.add("lengths", [self.plain("lengths.csv", b"1,2\n3,4\n")], "lengths.csv")
        self.run_tool("get", "tiny", "lengths")
        self.weights = self.data / "checkpoints/tiny/model.safetensors"
        self.hub.requests.clear()

    def test_an_altered_file_is_found_and_brought_again_alone(self):
        content = bytearray(WEIGHTS)
        content[7] ^= 1
        self.weights.write_bytes(content)
        text = self.run_tool("check", status=1)
        self.assertIn(f"{self.weights} has another content than was fetched", text)
        self.assertIn("reprise data get --again tiny", text)
        self.assertIn("lengths: as fetched", text)
        self.run_tool("get", "--again", "tiny")
        self.assert_whole()
        self.assertEqual({path.split("/")[-1] for _, _, path, _ in self.hub.requests}, {"model.safetensors"})
        self.assertIn("as fetched", self.run_tool("check", "tiny"))

    def test_a_cut_file_does_not_count_as_there(self):
        self.weights.write_bytes(WEIGHTS[:-1])
        self.assertEqual(self.listed()["here"], "damaged")
        self.assertIn("has 299999 bytes, not 300000", self.run_tool("check", "tiny", status=1))
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_files_of_the_users_own_are_not_lost(self):
        own = self.weights.with_name("notes.txt")
        own.write_text("mine")
        self.weights.write_bytes(WEIGHTS[:-1])
        self.assertIn(f"{own} was not fetched by this program: move it out", self.run_tool("get", "tiny", status=1))
        self.assertEqual(own.read_text(), "mine")
        own.unlink()
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_a_missing_file_and_a_missing_entry(self):
        self.weights.unlink()
        self.assertIn(f"{self.weights} is missing", self.run_tool("check", "tiny", status=1))
        shutil.rmtree(self.data / "checkpoints")
        self.assertIn("is missing", self.run_tool("check", "tiny", status=1))
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_a_single_file_is_repaired_too(self):
        (self.data / "lengths.csv").write_bytes(b"1,2\n3,5\n")
        self.assertIn("another content", self.run_tool("check", status=1))
        self.run_tool("get", "--again", "lengths")
        self.assertEqual((self.data / "lengths.csv").read_bytes(), b"1,2\n3,4\n")
        self.assertIn("as fetched", self.run_tool("check", "lengths"))

    def test_a_manifest_that_cannot_be_read(self):
        (self.data / ".reprise/tiny.json").write_text("{")
        self.assertIn("tiny.json cannot be read", self.run_tool("check", "tiny", status=1))
        self.run_tool("get", "tiny")
        self.assert_whole()

        for text in ("{}", "[]", '"x"', '{"downloads": [{"outputs": [{}]}]}', '{"downloads": [3]}',
                     '{"downloads": [{"outputs": [{"path": "", "size": "3", "sha256": ""}]}]}'):
            (self.data / ".reprise/tiny.json").write_text(text)
            self.assertEqual(self.listed()["here"], "damaged")
            self.assertIn("tiny.json cannot be read", self.run_tool("check", "tiny", status=1))

    def test_files_of_the_users_own_beside_a_manifest_that_cannot_be_read(self):
        (self.data / ".reprise/tiny.json").write_text("{")
        own = self.weights.with_name("notes.txt")
        own.write_text("mine")
        self.assertIn(f"{own} was not fetched by this program: move it out", self.run_tool("get", "tiny", status=1))
        self.assertEqual(own.read_text(), "mine")
        own.unlink()
        self.run_tool("get", "tiny")
        self.assert_whole()

    def test_what_cannot_be_read_is_named(self):
        fails = self.folder / "blocked/sitecustomize.py"
        fails.write_text(
            "import hashlib\ndef fail(*_): raise OSError(5, 'Input/output error')\nhashlib.file_digest = fail\n")
        text = self.run_tool("check", "tiny", status=1)
        self.assertIn(f"{self.weights} cannot be read: Input/output error", text)
        fails.unlink()
        manifest = self.data / ".reprise/tiny.json"
        manifest.unlink()
        manifest.mkdir()
        self.add("new", [self.plain("new.csv", b"1")], "new.csv")
        for command in (["list"], ["check"], ["get", "tiny", "new"]):
            self.assertIn(f"{manifest} cannot be read: Is a directory. Make it readable, or remove it",
                          self.run_tool(*command, status=1))
        self.assertEqual((self.data / "new.csv").read_bytes(), b"1")
        self.environment["REPRISE_DATA"] = str(self.data / "lengths.csv")
        for command in (["list"], ["check"], ["get", "tiny"]):
            self.assertIn("lengths.csv is no folder, so no data can be there: remove it, or name a folder in REPRISE_DATA",
                          self.run_tool(*command, status=1))

    def test_a_file_system_without_locks_is_named(self):
        (self.folder / "blocked/sitecustomize.py").write_text(
            "import fcntl\ndef fail(*_): raise OSError(37, 'No locks available')\nfcntl.flock = fail\n")
        text = self.run_tool("get", "--again", "tiny", status=1)
        self.assertIn("cannot be locked: No locks available", text)
        self.assertNotIn("another", text)

    def test_again_touches_nothing_if_nothing_differs(self):
        before = self.weights.stat()
        self.run_tool("get", "--again", "tiny", "lengths")
        self.assert_whole()
        self.assertEqual((self.weights.stat().st_ino, self.weights.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.assertEqual(self.hub.requests, [])

    def interrupted(self, *arguments):
        """Interrupts a command while it computes the hash of a file. Returns its standard error."""
        waits, started = self.folder / "blocked/sitecustomize.py", self.folder / "started"
        waits.write_text("import hashlib, pathlib, time\n"
                         f"hashlib.file_digest = lambda *_: (pathlib.Path('{started}').touch(), time.sleep(60))\n")
        with subprocess.Popen(self.command(arguments), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as tool:
            while not started.exists() and tool.poll() is None:
                time.sleep(0.02)
            tool.send_signal(signal.SIGINT)
            text = tool.communicate()[1]
        self.assertEqual(tool.returncode, 130, text)
        waits.unlink()
        return text

    def test_an_interrupted_check_does_not_say_that_it_goes_on(self):
        self.assertEqual(self.interrupted("check", "tiny"), "\nstopped\n")

    def test_an_interrupt_while_again_compares_loses_nothing(self):
        self.assertIn("goes on where it was", self.interrupted("get", "--again", "tiny"))
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)
        self.run_tool("get", "tiny")
        self.run_tool("get", "--again", "tiny")
        self.assert_whole()
        self.assertEqual(self.hub.requests, [])

    def test_a_repair_that_is_killed_leaves_the_other_files_in_place(self):
        self.weights.write_bytes(WEIGHTS[::-1])
        kills = self.folder / "blocked/sitecustomize.py"
        kills.write_text("import os, signal\n"
                         "def fatal(call):\n"
                         "    return lambda *names: (call(*names), os.kill(os.getpid(), signal.SIGKILL))\n"
                         "os.link, os.rename = fatal(os.link), fatal(os.rename)\n")
        self.run_tool("get", "--again", "tiny", status=-signal.SIGKILL)
        kills.unlink()
        for name in KEPT - {"model.safetensors"}:
            self.assertEqual((self.weights.parent / name).read_bytes(), MODEL[name])
        self.hub.requests.clear()
        self.run_tool("get", "--again", "tiny")
        self.assert_whole()
        self.assertEqual(self.hub.requests, [])

    def test_a_file_system_without_links_is_repaired_too(self):
        self.weights.write_bytes(WEIGHTS[::-1])
        (self.folder / "blocked/sitecustomize.py").write_text(
            "import os\ndef link(*_): raise PermissionError\nos.link = link\n")
        self.run_tool("get", "--again", "tiny")
        self.assert_whole()
        self.assertEqual({path.split("/")[-1] for _, _, path, _ in self.hub.requests}, {"model.safetensors"})

    def test_a_file_in_place_that_cannot_be_read_ends_its_own_fetch_alone(self):
        self.add("new", [self.plain("new.csv", b"1")], "new.csv")
        (self.folder / "blocked/sitecustomize.py").write_text(
            "import hashlib\ndef fail(*_): raise OSError(5, 'Input/output error')\nhashlib.file_digest = fail\n")
        text = self.run_tool("get", "--again", "tiny", "new", status=1)
        self.assertIn(f"tiny: cannot bring tiny to {self.data}: Input/output error. May you read and write there?", text)
        self.assertEqual((self.data / "new.csv").read_bytes(), b"1")

    def test_what_is_here_stays_until_a_source_that_was_added_has_come(self):
        sources = [{"hub": "org/tiny"}]
        self.add("tiny", [*sources, self.plain("more.json", b"{}"), self.plain("last.json", b"[]")], "checkpoints/tiny")
        del self.hub.plain["/last.json"]
        self.run_tool("get", "--again", "tiny", status=1)
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)
        self.assertEqual(self.listed()["here"], "yes")
        self.add("tiny", [*sources, self.plain("more.json", b"{}")], "checkpoints/tiny")
        self.run_tool("get", "--again", "tiny")
        self.assertEqual(self.weights.read_bytes(), WEIGHTS)
        self.assertEqual(self.weights.with_name("more.json").read_bytes(), b"{}")
        self.assertIn("as fetched", self.run_tool("check", "tiny"))
        self.assertEqual(self.hub.asked("model.safetensors"), [])
        self.assertEqual(len(self.hub.asked("more.json")), 1)

    def test_again_without_a_network_keeps_what_is_here(self):
        self.add("lengths", [self.plain("lengths.csv", b"5,6")], "lengths.csv")
        self.hub.plain.clear()
        self.run_tool("get", "--again", "lengths", status=1)
        self.assertEqual((self.data / "lengths.csv").read_bytes(), b"1,2\n3,4\n")
        self.plain("lengths.csv", b"5,6")
        self.run_tool("get", "--again", "lengths")
        self.assertEqual((self.data / "lengths.csv").read_bytes(), b"5,6")

    def test_a_folder_of_ones_own_is_left_alone(self):
        (self.data / ".reprise/tiny.json").unlink()
        self.weights.write_bytes(b"mine")
        self.assertEqual(self.listed()["here"], "own")
        self.assertIn("left alone", self.run_tool("get", "tiny"))
        self.assertIn("nothing to compare it with", self.run_tool("check", "tiny"))
        self.assertEqual(self.weights.read_bytes(), b"mine")

    def test_a_link_in_its_place_is_ones_own(self):
        mine = self.folder / "mine"
        shutil.move(self.data / "checkpoints/tiny", mine)
        (mine / "model.safetensors").write_bytes(b"mine")
        (self.data / "checkpoints/tiny").symlink_to(mine)
        self.assertEqual(self.listed()["here"], "own")
        self.assertIn("left alone", self.run_tool("get", "tiny", "--again"))
        self.assertIn("nothing to compare it with", self.run_tool("check", "tiny"))
        self.assertEqual((mine / "model.safetensors").read_bytes(), b"mine")

    def test_a_link_that_leads_nowhere_is_refused_before_the_first_request(self):
        shutil.rmtree(self.data / "checkpoints/tiny")
        (self.data / "checkpoints/tiny").symlink_to(self.folder / "gone")
        self.assertIn(f"{self.data}/checkpoints/tiny is a link to {self.folder}/gone, which is not there: remove the link",
                      self.run_tool("get", "tiny", status=1))
        self.assertEqual(self.hub.requests, [])

    def test_the_cache_folder_is_searched_too(self):
        os.renames(self.data, self.folder / "cache/reprise")
        self.assertEqual(self.listed()["place"], f"{self.folder}/cache/reprise/checkpoints/tiny")
        self.assertIn("is there", self.run_tool("get", "tiny"))
        del self.environment["REPRISE_DATA"]
        self.add("new", [self.plain("new.csv", b"1")], "new.csv")
        self.run_tool("get", "new")
        self.assertTrue((self.folder / "cache/reprise/new.csv").exists())

    def test_what_is_not_there_is_said(self):
        self.add("absent", [{"hub": "org/tiny"}])
        self.assertIn("Fetch it: reprise data get absent", self.run_tool("check", "absent", status=1))


class Names(Case):
    def setUp(self):
        super().setUp()
        self.add("pairs", [self.plain("pairs.csv", b"1")], "pairs.csv")
        self.add("dev", [self.plain("dev.csv", b"2")], "dev.csv")
        folder = self.folder / "experiments/paper"
        folder.mkdir()
        (folder / "table1.json").write_text(json.dumps({
            "kind": "sentences", "models": ["checkpoints/tiny", {"model": "shape", "weights": "random"}],
            "workload": {"name": "x", "file": "pairs.csv"},
            "scales": {"desk": {"workload": {"file": "dev.csv"}},
                       "smoke": {"models": ["models/own"], "workload": {"file": None}}}}))
        (folder / "table2.json").write_text(json.dumps({"kind": "sentences", "workload": {"name": "x", "file": "pairs.csv"}}))

    def test_an_unknown_one_offers_the_nearest(self):
        self.assertIn("did you mean pairs", self.run_tool("get", "pair", status=1))
        self.assertIn("did you mean paper/table1", self.run_tool("get", "paper/tabel1", status=1))

    def test_experiments_and_papers_bring_what_they_name(self):
        self.run_tool("get", "paper/table1", "--scale", "desk")
        self.assertFalse((self.data / "pairs.csv").exists())
        self.assertEqual((self.data / "dev.csv").read_bytes(), b"2")
        self.assert_whole()
        self.run_tool("get", "paper")
        self.assertTrue((self.data / "pairs.csv").exists())
        self.assertIn("nothing to fetch", self.run_tool("get", "paper/table1", "--scale", "smoke"))

    def test_one_that_fails_does_not_keep_others_back(self):
        self.hub.gated.add("org/tiny")
        self.assertIn("tiny: org/tiny is gated", self.run_tool("get", "tiny", "pairs", status=1))
        self.assertTrue((self.data / "pairs.csv").exists())

    def test_an_interrupt_tells_what_failed_before(self):
        self.add("gone", [{"hub": "org/gone"}])
        self.hub.slow.add("/pairs.csv")
        self.addCleanup(self.hub.slow.clear)
        with subprocess.Popen(self.command(["get", "gone", "pairs"]), env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as tool:
            while not self.hub.asked("pairs.csv") and tool.poll() is None:
                time.sleep(0.02)
            tool.send_signal(signal.SIGINT)
            text = tool.communicate()[1]
        self.assertEqual(tool.returncode, 130, text)
        self.assertIn("gone: org/gone is gated, or is not there", text)
        self.assertIn("stopped; the same command goes on where it was", text)

    def test_two_at_once_are_refused(self):
        self.hub.slow.add("model.safetensors")
        with subprocess.Popen(self.command(["get", "tiny"]), env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tool:
            while not self.hub.asked("/cdn/"):
                time.sleep(0.02)
            self.assertIn("another `reprise data get` is bringing tiny", self.run_tool("get", "tiny", status=1))
            tool.kill()
        self.hub.slow.clear()

    def test_the_list_fits_a_terminal_and_tells_all(self):
        text = self.run_tool("list")
        self.assertLess(max(map(len, text.splitlines()[:-1])), 81)
        row = self.listed("pairs")
        self.assertEqual((row["needed_by"], row["bytes"], row["gated"], row["here"]), (["paper/table1", "paper/table2"], 1, False, "no"))
        self.assertEqual(list(row["files"].values()), [{"size": 1, "sha256": hashlib.sha256(b"1").hexdigest()}])


unittest.main()
