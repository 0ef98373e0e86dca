#!/usr/bin/env python3
"""load_runs_test.py PROGRAM: runs `reprise load` against `reprise serve` and a server like vLLM, as their users do. Tests
whether a warm server can pass off what it cached before as its speed."""
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

PROGRAM = sys.argv.pop(1)
KEEPS_ALL = json.dumps({"retain": True, "reuse_prefill": True})


class Server:
    def __enter__(self):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", "models/quickstart", "--method", "chunk_attention", "--method-options", KEEPS_ALL,
             "--chat-template", "llama-2", "--port", "0", "--threads", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if found := re.search(r"http://[^/ ]+", line):
                self.url = found[0]
                return self
        raise AssertionError(f"the server ended with {self.process.wait()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()


class LikeVllm(http.server.ThreadingHTTPServer):
    """A server that keeps the blocks of all prompts, reports cached tokens only in its counters, and takes 0.2 ms for each
    prompt token that is not cached."""
    BLOCK = 16

    def __init__(self):
        self.known, self.queries, self.hits = set(), 0, 0
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), LikeVllmHandler)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def take(self, prompt):
        """Returns the number of tokens that are not cached."""
        blocks = [tuple(prompt[:end]) for end in range(self.BLOCK, len(prompt) + 1, self.BLOCK)]
        with self.lock:
            found = 0
            while found < len(blocks) and blocks[found] in self.known:
                found += 1
            self.known.update(blocks)
            self.queries += len(prompt)
            self.hits += self.BLOCK * found
        return len(prompt) - self.BLOCK * found


class LikeVllmHandler(http.server.BaseHTTPRequestHandler):
    def answer(self, content_type, text):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        if self.path == "/metrics":
            self.answer("text/plain", f"vllm:prefix_cache_queries_total {self.server.queries}\n"
                                      f"vllm:prefix_cache_hits_total {self.server.hits}\n")
        elif self.path == "/version":
            self.answer("application/json", '{"version": "0.0"}')
        else:
            self.answer("application/json", '{"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, tokens = body["prompt"], body["max_tokens"]
        time.sleep(2e-4 * self.server.take(prompt))
        events = [{"choices": [{"index": 0, "text": " a", "token_ids": [5], "finish_reason": None}]} for _ in range(tokens)]
        events[-1]["choices"][0]["finish_reason"] = "length"
        events.append({"choices": [], "usage": {"prompt_tokens": len(prompt), "completion_tokens": tokens}})
        self.answer("text/event-stream", "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n")

    def log_message(self, *_):
        pass


class LoadRuns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.runs = 0

    def load(self, server, experiment, *more, out=None, draws=False):
        """Returns the exit status, what was said, and the first record."""
        self.runs += 1
        out = out or pathlib.Path(self.folder.name, f"run{self.runs}")
        done = subprocess.run([PROGRAM, "load", server.url, experiment, "--scale", "smoke", "--out", out, *more,
                               *([] if draws else ["--no-plot"])],
                              capture_output=True, text=True, check=False, timeout=120)
        records = record_reader.read_folder(out) if (out / "run.json").exists() else []
        return done.returncode, done.stdout + done.stderr, records[0] if records else None

    def unshared(self, server, *more, **options):
        return self.load(server, "serving/unshared", "--set", "repetitions=1", "--set", "sweep.user_tokens=256", *more, **options)

    def test_each_run_has_prompts_that_no_server_knows(self):
        with Server() as server:
            runs = [self.unshared(server) for _ in range(2)]
        for status, said, record in runs:
            self.assertEqual(status, 0, said)
            self.assertEqual(record["metrics"]["cached_token_share"]["value"], 0)
        nonces = [record["settings"]["resolved"]["server"]["nonce"] for _, _, record in runs]
        self.assertNotEqual(*nonces)

    def test_a_second_run_of_a_server_like_vllm_is_no_faster_or_invalid(self):
        with LikeVllm() as server:
            first, second = (self.unshared(server) for _ in range(2))
            replayed = [self.unshared(server, "--nonce", "3") for _ in range(2)][1]
        for status, said, record in (first, second):
            self.assertEqual(status, 0, said)
            self.assertEqual(record["settings"]["resolved"]["server"]["reuse_told_by"], "counters")
            self.assertGreater(record["metrics"]["ttft_ms"]["value"], 0.2 * 256)
        self.assertEqual(replayed[0], 5, replayed[1])
        self.assertLess(replayed[2]["metrics"]["ttft_ms"]["value"], 0.2 * 256)
        self.assertIn("it kept prompts of before", " ".join(replayed[1].split()))

    def test_prompts_that_the_server_kept_make_a_run_invalid(self):
        with Server() as server:
            first, again = (self.unshared(server, "--nonce", "5") for _ in range(2))
            allowed = [self.unshared(server, "--reuse", "all") for _ in range(2)][1]
        self.assertEqual(first[0], 0, first[1])
        self.assertEqual(again[0], 5, again[1])
        self.assertIn("it kept prompts of before", " ".join(again[1].split()))
        self.assertIn("none of the 1 points is VALID", again[1])
        self.assertEqual(allowed[0], 0, allowed[1])
        self.assertGreater(allowed[2]["metrics"]["cached_token_share"]["value"], 0.9)

    def test_an_invalid_run_is_told_though_its_figures_cannot_be_drawn(self):
        experiment = json.loads((TREE / "experiments/serving/unshared.json").read_text(encoding="utf-8"))
        file = pathlib.Path(self.folder.name, "drawn.json")
        file.write_text(json.dumps(experiment | {"plot": {"x": "user_tokens", "y": "ttft_ms"}}), encoding="utf-8")
        sets = ("--set", "repetitions=1", "--set", "sweep.user_tokens=256", "--nonce", "3")
        with LikeVllm() as server, unittest.mock.patch.dict(os.environ, REPRISE_PLOTS_DIR="/nowhere"):
            first, again = (self.load(server, file, *sets, draws=True) for _ in range(2))
        self.assertEqual(first[0], 4, first[1])
        self.assertEqual(again[0], 5, again[1])
        self.assertIn("none of the 1 points is VALID", again[1])

    def test_an_audit_finds_kept_prompts_and_no_kept_answers(self):
        with Server() as server:
            status, said, record = self.unshared(server, "--audit")
            salted = self.unshared(server, "--audit", "--reuse", "none")
        self.assertEqual(status, 0, said)
        audit = record["settings"]["resolved"]["audit"]
        self.assertGreater(audit["first_token_ratio"]["low"], 1)  # kept prompts, which may be found
        self.assertIn("a prompt that was sent before has its first token", " ".join(said.split()))
        self.assertEqual(salted[0], 0, salted[1])

    def test_chats_are_measured_and_judged_like_completions(self):
        with Server() as server:
            first, again = (self.unshared(server, "--chat", "--nonce", "7") for _ in range(2))
        self.assertEqual(first[0], 0, first[1])
        told = first[2]["settings"]["resolved"]["server"]
        self.assertEqual(told["prompts"], "chat")
        self.assertGreater(first[2]["metrics"]["prompt_tokens_total"]["value"], 0)
        self.assertEqual(again[0], 5, again[1])

    def test_shared_parts_stay_shared_within_a_run_and_not_where_nothing_may_be(self):
        with Server() as server:
            share = {}
            for reuse in ("prefix_within_run", "none"):
                status, said, record = self.load(server, "serving/peers", "--set", "sweep.shared_tokens=128", "--reuse", reuse)
                self.assertEqual(status, 0, said)
                share[reuse] = record["metrics"]["cached_token_share"]["value"]
        self.assertGreater(share["prefix_within_run"], 0.5)
        self.assertEqual(share["none"], 0)

    def test_each_kind_of_reuse_finds_what_it_allows(self):
        share = {}
        for reuse in ("none", "session", "prefix_within_run", "all"):
            with Server() as server:  # the second run counts, which with "all" finds a warm server
                runs = [self.load(server, "serving/traces", "--set", "settings.arrivals=sessions", "--set",
                                  "settings.most_in_flight=2", "--set", "settings.shared_tokens=128", "--reuse", reuse)
                        for _ in range(2)]
            for status, said, _ in runs:
                self.assertEqual(status, 0, said)
            share[reuse] = runs[1][2]["metrics"]["cached_token_share"]["value"]
        self.assertEqual(share["none"], 0)
        self.assertGreater(share["session"], 0.1)  # the conversation's earlier turns
        self.assertGreater(share["prefix_within_run"], share["session"])  # and the first text, which all prompts have
        self.assertGreater(share["all"], share["prefix_within_run"])

    def test_modelled_steps_are_refused_before_anything_is_sent(self):
        with LikeVllm() as server:
            status, said, _ = self.load(server, "serving/replay")
            self.assertEqual(status, 1, said)
            self.assertIn("--set settings.modelled_step_ms=0", " ".join(said.split()))
            self.assertEqual(server.queries, 0)

    def test_another_server_has_points_of_its_own(self):
        out = pathlib.Path(self.folder.name, "both")
        with Server() as one, Server() as other:
            self.assertEqual(self.unshared(one, out=out)[0], 0)
            status, said, record = self.unshared(other, out=out)
            self.assertEqual(record["settings"]["resolved"]["server"]["url"], one.url)
            self.assertEqual(status, 1, "the second server's numbers would be the first one's")
            self.assertIn(str(out), said)
            status, said, _ = self.unshared(one, "--reuse", "none", out=out)
            self.assertEqual(status, 1, "what one rule allows would stand for another")

    def test_other_prompts_have_points_of_their_own(self):
        out = pathlib.Path(self.folder.name, "forms")
        with Server() as server:
            self.assertEqual(self.unshared(server, out=out)[0], 0)
            for other in (["--chat"], ["--text"], ["--prime"], ["--nonce", "3"]):
                with self.subTest(other):
                    status, said, _ = self.unshared(server, *other, out=out)
                    self.assertEqual(status, 1, "old results would be shown as new")
                    self.assertIn(str(out), said)

    def test_searches_and_repetitions_work(self):
        with Server() as server:
            status, said, record = self.load(server, "serving/highest_rate")
            self.assertEqual(status, 0, said)
            self.assertGreater(record["metrics"]["highest_rps"]["value"], 0)
            status, said, record = self.load(server, "serving/unshared")
            self.assertEqual(status, 0, said)
            self.assertEqual(record["metrics"]["throughput_rps"]["count"], 3)


unittest.main()
