#!/usr/bin/env python3
"""Stands in for the Python that runs a peer's script: answers as REPRISE_SAMPLE_PEER says, with the protocol module in the
script's folder. A batch takes 20 ms, and 5 ms more for each further token."""
import os
import pathlib
import sys

script = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(script.parent))
import peer  # noqa: E402

BEHAVIOUR = os.environ["REPRISE_SAMPLE_PEER"]


class Sample:
    precision = "none"

    def __init__(self, options):
        if BEHAVIOUR == "unable":
            raise peer.Unable(f"no room for {options.tokens} tokens")
        if BEHAVIOUR == "crash":
            raise RuntimeError("the model is broken")
        self.options = options
        self.before = None

    def run(self, prompts, shared_tokens, new_tokens):
        if BEHAVIOUR == "error":
            raise ValueError(f"{len(prompts)} prompts")
        print("what a library prints is no answer")
        assert prompts != self.before, "a prefix cache would know these prompts"
        self.before = prompts
        assert len(prompts) == self.options.batch
        assert all(prompt[:shared_tokens] == prompts[0][:shared_tokens] for prompt in prompts)
        assert all(len(prompt) + new_tokens == self.options.tokens for prompt in prompts)
        clock = peer.Clock()
        for step in range(new_tokens - (BEHAVIOUR == "short")):
            clock.tokens += [[sequence, 20_000_000 + 5_000_000 * step] for sequence in range(len(prompts))]
        return clock


peer.REST_S = 0
peer.serve({"none": "peer_of_no_library"} if BEHAVIOUR == "missing" else {}, Sample)
