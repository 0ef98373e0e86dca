#!/usr/bin/env python3
"""OpenVINO GenAI's continuous batching behind the few lines of OpenAI's API that `reprise load` speaks.

    V/bin/python experiments/peers/openvino_server.py --model FOLDER --port 8001 [--threads 2] [--cache-gb 4] [--max-batch 32]

V is an environment with openvino-genai; FOLDER holds a model exported for it (see prefix_cache.py). One thread steps the
pipeline; each connection has one that reads a request and writes its tokens as they come. Prefix caching is on unless
--no-prefix-caching is given. Greedy, of prompts as token ids.
"""
import argparse
import http.server
import itertools
import json
import os
import queue
import threading
import time

import numpy
import openvino
import openvino_genai as genai


class Service:
    def __init__(self, options):
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching = options.prefix_caching
        scheduler.cache_size = options.cache_gb
        scheduler.max_num_seqs = options.max_batch
        scheduler.max_num_batched_tokens = options.step_tokens
        scheduler.dynamic_split_fuse = True
        self.pipeline = genai.ContinuousBatchingPipeline(
            str(options.model), scheduler, "CPU",
            {"INFERENCE_PRECISION_HINT": "bf16", "KV_CACHE_PRECISION": "bf16", "INFERENCE_NUM_THREADS": options.threads})
        self.numbers = itertools.count()
        self.arrived = queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def submit(self, prompt, tokens):
        """Returns a queue of lists of token ids, then None; or of the text of an error."""
        answer = queue.Queue()
        self.arrived.put((prompt, tokens, answer))
        return answer

    def begin(self, prompt, tokens, answer):
        config = genai.GenerationConfig()
        config.max_new_tokens = tokens
        config.ignore_eos = True
        config.do_sample = False
        ids = openvino.Tensor(numpy.asarray(prompt, dtype=numpy.int64).reshape(1, -1))
        return self.pipeline.add_request(next(self.numbers), ids, config), answer

    def work(self):
        under_way = []
        while True:
            while not under_way or not self.arrived.empty():
                under_way.append(self.begin(*self.arrived.get()))
            try:
                self.pipeline.step()
            except RuntimeError as error:
                for _, answer in under_way:
                    answer.put(str(error))
                under_way = []
                continue
            under_way = [pair for pair in under_way if self.hand_out(*pair)]

    @staticmethod
    def hand_out(handle, answer):
        """Returns False if the answer has ended."""
        while handle.can_read():
            for output in handle.read().values():
                if output.generated_ids:
                    answer.put(list(output.generated_ids))
        if handle.get_status() == genai.GenerationStatus.RUNNING:
            return True
        answer.put(None)
        return False


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service = None

    def log_message(self, *_):
        pass

    def send_json(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/v1/models":
            self.send_json(200, {"object": "list", "data": [{"id": "openvino", "object": "model"}]})
        else:
            self.send_json(404, {"error": {"message": f"nothing at {self.path}"}})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked.get("prompt")
        if self.path != "/v1/completions" or not isinstance(prompt, list) or not asked.get("stream"):
            self.send_json(400, {"error": {"message": "streamed completions of token ids alone"}})
            return
        answer = self.service.submit(prompt, asked.get("max_tokens", 16))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = 0
        while (tokens := answer.get()) is not None:
            if isinstance(tokens, str):
                self.event({"error": {"message": tokens}})
                break
            count += len(tokens)
            self.event({"choices": [{"index": 0, "text": "", "token_ids": tokens, "finish_reason": None}]})
        else:
            self.event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}],
                        "usage": {"prompt_tokens": len(prompt), "completion_tokens": count}})
        self.chunk("data: [DONE]\n\n")
        self.chunk("")

    def event(self, value):
        self.chunk(f"data: {json.dumps(value)}\n\n")

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cache-gb", type=int, default=4)
    parser.add_argument("--max-batch", type=int, default=32)
    parser.add_argument("--step-tokens", type=int, default=512)
    parser.add_argument("--no-prefix-caching", dest="prefix_caching", action="store_false")
    options = parser.parse_args()
    Handler.service = Service(options)
    server = Server(("127.0.0.1", options.port), Handler)
    print(f"serving at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
