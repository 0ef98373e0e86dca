#!/usr/bin/env python3
"""openai_client_test.py PROGRAM: tests `reprise serve` with OpenAI's own client, and what `reprise load` sends and counts."""
import concurrent.futures
import http.client
import http.server
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import openai

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from reprise import record_reader  # noqa: E402  (in another folder of the tree)

PROGRAM = sys.argv.pop(1)
PROMPT = "Q: what is the code of the blue door?\nA:"
KEY = "a key of the test"


class Server:
    def __init__(self, *more, template="llama-2"):
        chats = ["--chat-template", template] if template else []
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", "quickstart", "--dtype", "f32", "--port", "0", "--api-key", KEY,
             *chats, "--grace", "0", *more],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline()).group()

    def client(self, key=KEY):
        return openai.OpenAI(base_url=self.url, api_key=key, max_retries=0, timeout=60)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.close()
        return self.process.wait(timeout=30)


class Served(unittest.TestCase):
    """Tests of one class share a server."""
    OPTIONS = ("--method", "chunk_attention")
    TEMPLATE = "llama-2"

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.OPTIONS, template=cls.TEMPLATE)
        cls.client = cls.server.client()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.end() == 0


class OpenAIClient(Served):
    def complete(self, prompt=PROMPT, **more):
        more.setdefault("max_tokens", 16)
        more.setdefault("temperature", 0)
        more.setdefault("extra_body", {"ignore_eos": True})
        return self.client.completions.create(model="quickstart", prompt=prompt, **more)

    def chat(self, content="Hello", **more):
        more.setdefault("temperature", 0)
        more.setdefault("max_completion_tokens", 12)
        more.setdefault("extra_body", {"ignore_eos": True})
        return self.client.chat.completions.create(
            model="quickstart", messages=[{"role": "system", "content": "Be brief."},
                                          {"role": "user", "content": content}], **more)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["quickstart"])
        self.assertEqual(self.client.models.retrieve("quickstart").id, "quickstart")

    def test_completion(self):
        answer = self.complete()
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.completion_tokens, 16)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + 16)
        self.assertIsNotNone(answer.usage.prompt_tokens_details.cached_tokens)
        self.assertGreater(len(answer.choices[0].text), 16)

    def test_streamed_completion(self):
        whole = self.complete().choices[0].text
        chunks = list(self.complete(stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks if chunk.choices), whole)
        self.assertEqual(chunks[-1].usage.completion_tokens, 16)
        self.assertEqual(chunks[-2].choices[0].finish_reason, "length")

    def test_prompts_and_choices(self):
        answer = self.complete(prompt=[PROMPT, "Once upon"], n=2)
        texts = [choice.text for choice in sorted(answer.choices, key=lambda choice: choice.index)]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[2], texts[3])
        self.assertEqual(texts[0], self.complete().choices[0].text)
        self.assertEqual(len(self.complete(prompt=[1, 5, 9]).choices), 1)

    def test_chat(self):
        answer = self.chat()
        self.assertEqual(answer.choices[0].message.role, "assistant")
        chunks = list(self.chat(stream=True))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks),
                         answer.choices[0].message.content)
        parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
        self.assertEqual(self.chat(parts).choices[0].message.content, answer.choices[0].message.content)

    def test_stop(self):
        whole = self.complete(max_tokens=32).choices[0].text
        stop = whole[10:14]
        cut = whole[:whole.index(stop)]
        answer = self.complete(max_tokens=32, stop=["never there", stop])
        self.assertEqual(answer.choices[0].text, cut)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        chunks = list(self.complete(max_tokens=32, stop=stop, stream=True))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), cut)

    def test_seed(self):
        def texts(seed):
            return [choice.text for choice in self.complete(temperature=1.2, n=2, seed=seed).choices]
        self.assertEqual(texts(5), texts(5))
        self.assertNotEqual(texts(5), texts(6))

    def test_logprobs(self):
        answer = self.complete("Section 1: How to bind a torn book\nYou need:", logprobs=3, max_tokens=4).choices[0]
        self.assertEqual("".join(answer.logprobs.tokens), answer.text)
        for token, logprob, top in zip(answer.logprobs.tokens, answer.logprobs.token_logprobs,
                                       answer.logprobs.top_logprobs):
            self.assertEqual(top[token], logprob)
            self.assertLessEqual(logprob, 0)
        content = self.chat(logprobs=True, top_logprobs=2).choices[0].logprobs.content
        self.assertEqual(len(content), 12)
        self.assertEqual(content[0].top_logprobs[0].token, content[0].token)

    def test_echo(self):
        answer = self.complete().choices[0].text
        self.assertEqual(self.complete(echo=True).choices[0].text, PROMPT + answer)
        chunks = list(self.complete(echo=True, stream=True))
        self.assertTrue(chunks[0].choices[0].text.startswith(PROMPT))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), PROMPT + answer)
        alone = self.complete(echo=True, max_tokens=0, logprobs=1)
        self.assertEqual(alone.choices[0].text, PROMPT)
        self.assertEqual(alone.usage.completion_tokens, 0)
        logprobs = alone.choices[0].logprobs
        self.assertEqual(len(logprobs.tokens), alone.usage.prompt_tokens)
        self.assertIsNone(logprobs.token_logprobs[0])
        self.assertLess(max(logprobs.token_logprobs[1:]), 0)

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete(max_tokens=100000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertIn("100000 for the answer", str(caught.exception))
        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete(temperature=-1)
        self.assertEqual(caught.exception.param, "temperature")
        with self.assertRaises(openai.NotFoundError):
            self.client.completions.create(model="gpt-4", prompt="a")
        with self.assertRaises(openai.AuthenticationError):
            self.server.client("another key").models.list()
        with self.assertRaises(openai.BadRequestError):
            self.client.chat.completions.create(model="quickstart",
                                                messages=[{"role": "assistant", "content": "a"}])

    def test_too_many(self):
        def ask(_):
            try:
                self.complete(n=128, max_tokens=40)
            except openai.RateLimitError as error:
                return error.code
            return None
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            self.assertIn("queue_full", list(threads.map(ask, range(4))))

    def test_many_at_once(self):
        prompts = [f"The code of the {colour} door is" for colour in ("blue", "brown", "silver", "purple")]
        wanted = {prompt: self.complete(prompt).choices[0].text for prompt in prompts}
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            for prompt, text in threads.map(lambda i: (prompts[i % 4], self.complete(prompts[i % 4]).choices[0].text),
                                            range(32)):
                self.assertEqual(text, wanted[prompt])

    def test_a_stream_left_early_is_forgotten(self):
        with self.complete(max_tokens=1500, stream=True) as stream:
            next(iter(stream))
        for _ in range(100):
            try:
                metrics = urllib.request.urlopen(self.server.url.replace("/v1", "/metrics")).read().decode()
            except urllib.error.HTTPError as error:
                if error.code == 501:
                    self.skipTest(error.read().decode())
                raise
            if 'outcome="cancelled"' in metrics and "reprise_requests_running 0" in metrics:
                return
            time.sleep(0.05)
        self.fail(metrics)


class Embeddings(Served):
    OPTIONS = ("--embeddings", "--normalize")
    TEMPLATE = None

    def embed(self, inputs, **more):
        return self.client.embeddings.create(model="quickstart", input=inputs, **more)

    def test_vectors_are_those_of_embed(self):
        texts = ["Once upon a time", PROMPT.replace("\n", " "), "é"]
        wanted = subprocess.run(
            [PROGRAM, "embed", "--model", "quickstart", "--dtype", "f32", "--normalize"], input="\n".join(texts),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines()
        answer = self.embed(texts)  # the client asks for base64 and decodes it
        self.assertEqual([data.index for data in answer.data], [0, 1, 2])
        floats = self.embed(texts, encoding_format="float")
        for data, also, line in zip(answer.data, floats.data, wanted):
            for a, b, c in zip(data.embedding, also.embedding, json.loads(line), strict=True):
                self.assertAlmostEqual(a, c, delta=1e-7)
                self.assertAlmostEqual(b, c, delta=1e-7)

    def test_forms_and_usage(self):
        one = self.embed("Once upon")
        self.assertEqual(one.usage.prompt_tokens, one.usage.total_tokens)
        self.assertEqual(self.embed([[1, 5, 9], [7]]).usage.prompt_tokens, 4)
        self.assertEqual(len(self.embed([1, 5, 9]).data), 1)
        self.assertEqual(self.embed("Once upon").data[0].embedding, one.data[0].embedding)

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.embed([5] * 3000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.embed("a", dimensions=8)
        self.assertEqual(caught.exception.param, "dimensions")
        with self.assertRaises(openai.NotFoundError):
            self.client.completions.create(model="quickstart", prompt="a")


class Trace(unittest.TestCase):
    def test_requests_and_steps_are_written_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "trace.json")
            server = Server("--trace", str(file))
            client = server.client()
            prompt = 20 * PROMPT
            more = {"max_tokens": 5, "extra_body": {"ignore_eos": True}}
            client.completions.create(model="quickstart", prompt=prompt, n=2, **more)
            stopped = {"temperature": 0, "extra_body": {"ignore_eos": True, "min_tokens": 10}}
            whole = client.completions.create(model="quickstart", prompt=prompt, max_tokens=50, **stopped)
            answer = client.completions.create(model="quickstart", prompt=prompt, max_tokens=1500,
                                               stop=whole.choices[0].text[-6:-3], **stopped)
            self.assertEqual(answer.choices[0].finish_reason, "stop")
            with client.completions.create(model="quickstart", prompt=prompt, stream=True,
                                           **(more | {"max_tokens": 1500})) as stream:
                for _ in zip(range(8), stream):
                    pass
            time.sleep(0.3)  # until the server has noticed that the client is gone
            self.assertFalse(file.exists())
            self.assertEqual(server.end(), 0)
            events = json.loads(file.read_text())["traceEvents"]
        decodes = [event for event in events if event["name"] == "decode"]
        self.assertEqual([event["args"]["generated_tokens"] for event in decodes[:2]], [5, 5])
        self.assertEqual([event["args"]["outcome"] for event in decodes], 4 * ["served"] + ["cancelled"])
        self.assertGreater(decodes[4]["args"]["cached_tokens"], 0)
        steps = [event for event in events if event.get("cat") == "step"]
        self.assertGreater(len(steps), 6)
        for event in decodes:
            inside = [step for step in steps if event["ts"] <= step["ts"] <= event["ts"] + event["dur"]]
            self.assertGreater(len(inside), 3)


class Ending(unittest.TestCase):
    def test_an_answer_under_way_ends_with_an_error(self):
        server = Server()
        stream = server.client().completions.create(model="quickstart", prompt="a", max_tokens=2000, stream=True,
                                                    extra_body={"ignore_eos": True})
        next(iter(stream))
        server.process.send_signal(signal.SIGTERM)
        with self.assertRaises(openai.APIError) as caught:
            list(stream)
        self.assertIn("shutting down", str(caught.exception))
        self.assertEqual(server.end(), 0)
        with self.assertRaises(openai.APIConnectionError):
            server.client().models.list()


class Passing(http.server.ThreadingHTTPServer):
    """Passes requests on to a server, and keeps what is posted with the answers."""

    def __init__(self, url):
        self.place = re.search(r"//([^/]+)", url).group(1)
        self.posted = []  # (path, body, answer)
        super().__init__(("127.0.0.1", 0), PassingHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class PassingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        further = http.client.HTTPConnection(self.server.place)
        headers = {name: self.headers[name] for name in ("Content-Type", "Authorization") if name in self.headers}
        further.request(self.command, self.path, body, headers)
        answer = further.getresponse()
        text = answer.read()
        further.close()
        if body:
            self.server.posted.append((self.path, json.loads(body), text.decode()))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type"))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = pass_on

    def log_message(self, *_):
        pass


def events_of(answer):
    return [json.loads(line[6:]) for line in answer.split("\n") if line.startswith("data: {")]


class LoadSeenByTheClient(Served):
    """Sends the requests of `load` again with OpenAI's client, which must see what `load` counted."""

    def load(self, experiment, *more):
        """Returns the record, and what was posted for it."""
        passing = Passing(self.server.url)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [PROGRAM, "load", passing.url, experiment, "--scale", "smoke", "--api-key", KEY, "--no-plot", "--out", folder,
                 "--set", "repetitions=1", *more], capture_output=True, text=True, check=False, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            record, = record_reader.read_folder(folder)
        passing.shutdown()
        passing.server_close()
        measured = int(record["metrics"]["ended_requests"]["value"])
        return record, passing.posted[-measured:]

    def test_chats(self):
        record, posted = self.load("serving/unshared", "--set", "sweep.user_tokens=64", "--chat")
        prompt_tokens = answer_tokens = 0
        for path, body, answer in posted:
            self.assertEqual(path, "/v1/chat/completions")
            known = {name: body.pop(name) for name in ("model", "messages", "max_tokens", "temperature")}
            for name in ("stream", "stream_options"):
                body.pop(name)
            seen = self.client.chat.completions.create(**known, extra_body=body)
            told = "".join(choice["delta"].get("content") or "" for event in events_of(answer)
                           for choice in event["choices"])
            self.assertEqual(seen.choices[0].message.content, told)
            prompt_tokens += seen.usage.prompt_tokens
            answer_tokens += seen.usage.completion_tokens
        self.assertEqual(record["metrics"]["prompt_tokens_total"]["value"], prompt_tokens)
        self.assertEqual(record["answers"]["generated_tokens"], answer_tokens)

    def test_sessions(self):
        _, posted = self.load("serving/traces", "--set", "settings.arrivals=sessions", "--set", "settings.most_in_flight=2")
        bodies = [body for _, body, _ in posted]
        turns = 0
        for body in bodies:
            before = [other for other in bodies if len(other["prompt"]) < len(body["prompt"])
                      and body["prompt"][:len(other["prompt"])] == other["prompt"]]
            if not before:
                continue
            turns += 1
            last = max(before, key=lambda other: len(other["prompt"]))
            seen = self.client.completions.create(
                model=last["model"], prompt=last["prompt"], max_tokens=last["max_tokens"], temperature=0,
                extra_body={"ignore_eos": True, "return_token_ids": True})
            at = len(last["prompt"])
            self.assertEqual(body["prompt"][at:at + last["max_tokens"]], seen.choices[0].model_extra["token_ids"])
        self.assertEqual(turns, 12)  # of six conversations of three turns


unittest.main()
