"""A headless Firefox that tests drive by WebDriver BiDi: Playwright can drive only a Firefox of its own."""

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import tempfile

FLAGS = ["--headless", "--no-remote", "--remote-debugging-port=0"]
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


# Firefox says that a page is complete before the page itself hears of it.
LAID_OUT = """async () => {
  while (!window.laidOut) await new Promise((next) => setTimeout(next, 20));
  await window.laidOut;
  if (document.querySelector("lab-box")) await course.load("lab.js");
}"""


def find_firefox():
    """Path of a Firefox, None without one."""
    return next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)


class Firefox:
    """One tab of a Firefox."""

    def __init__(self, socket):
        self.socket, self.numbers = socket, itertools.count(1)
        self.send("session.new", capabilities={})
        self.tab = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method, **params):
        """The result of a command."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (told := json.loads(self.socket.recv())).get("id") != number:
            pass  # an event
        assert told["type"] == "success", told
        return told["result"]

    def open(self, address):
        """Open a page and wait until it is loaded, and its boxes to write in have begun."""
        self.send("browsingContext.navigate", context=self.tab, url=address, wait="complete")
        self.evaluate(f"({LAID_OUT})()")

    def evaluate(self, expression):
        """The value of an expression in the page, by way of JSON; a promise is awaited."""
        asked = f"(async () => JSON.stringify(await ({expression})))()"
        target = {"context": self.tab}
        told = self.send("script.evaluate", expression=asked, target=target, awaitPromise=True)
        assert told["type"] == "success", told
        value = told["result"].get("value")
        return json.loads(value) if value else None

    def press(self, *keys):
        """Press keys one after the other: letters, or those that WebDriver has codes for."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self.send("input.performActions", context=self.tab, actions=[source])


@contextlib.contextmanager
def open_firefox(path):
    """Start a Firefox with a profile of its own; it ends with the block."""
    import websocket

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, "--profile", profile]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            address = next(found[1] for line in process.stderr if (found := LISTENING.search(line)))
            socket = websocket.create_connection(f"{address}/session", timeout=180, suppress_origin=True)
            yield Firefox(socket)
            socket.close()
        finally:
            process.terminate()
            process.wait(20)
