"""Drives a headless Chromium through its own protocol over a pipe, so that tests need no program but the browser."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
import urllib.parse

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser():
    """Returns the first of PROGRAMS that exists, or the one that REPRISE_BROWSER names; otherwise None."""
    named = os.environ.get("REPRISE_BROWSER")
    return named or next((path for path in map(shutil.which, PROGRAMS) if path), None)


def pipe_above_standard_streams():
    """Returns both ends of a pipe. Their descriptors are above 4, so that a child's descriptors 3 and 4 do not overwrite
    them."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
    for end in ends:
        os.close(end)
    return high


class Browser:
    """The connection to the browser. Messages end with a zero byte; events that the browser sends are kept in
    `events`."""

    def __init__(self, program, profile):
        child_in, to_child = pipe_above_standard_streams()
        from_child, child_out = pipe_above_standard_streams()

        def hand_over():
            os.dup2(child_in, 3)
            os.dup2(child_out, 4)
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=hand_over, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(child_in)
        os.close(child_out)
        self.to_child, self.from_child = to_child, from_child
        self.buffer, self.events, self.calls = b"", [], 0

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to_child)
        os.close(self.from_child)

    def read(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_child], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            some = os.read(self.from_child, 1 << 20)
            if not some:
                raise RuntimeError("the browser has ended")
            self.buffer += some
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, parameters=None, session=None, timeout_s=60):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_child, data):]
        deadline = time.monotonic() + timeout_s
        while True:
            answer = self.read(deadline)
            if answer.get("id") != self.calls:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def wait_for(self, method, session, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while not any(event.get("method") == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self.read(deadline))

    def open(self, path):
        return Page(self, "file://" + urllib.parse.quote(os.path.abspath(path)))


class Page:
    """One loaded page."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Page.navigate", {"url": url})
        browser.wait_for("Page.loadEventFired", self.session)
        self.evaluate("document.fonts.ready")

    def call(self, method, parameters=None):
        return self.browser.call(method, parameters, self.session)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate",
                           {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def events(self, method):
        return [event["params"] for event in self.browser.events
                if event.get("method") == method and event.get("sessionId") == self.session]

    def complaints(self):
        """Returns the console's content: exceptions, messages, violations of the page's policy."""
        return self.events("Runtime.exceptionThrown") + self.events("Runtime.consoleAPICalled") + [
            entry for entry in self.events("Log.entryAdded") if entry["entry"]["level"] != "verbose"]

    def requests(self):
        """Returns the addresses that were requested, without the page itself and embedded data."""
        urls = [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith("data:") and url.partition("#")[0] != self.url]

    def look(self, width, is_dark=False):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.call("Emulation.setEmulatedMedia", {
            "media": "", "features": [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})

    def screenshot(self, path, whole=True):
        picture = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def pdf(self, path):
        printed = self.call("Page.printToPDF", {"printBackground": True})
        with open(path, "wb") as file:
            file.write(base64.b64decode(printed["data"]))
