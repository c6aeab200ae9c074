"""A JupyterHub on this machine alone, the memory of its processes, and a student's browser as the hub sees it.

The hub's programs come from the folders in BLACKBOARD_HUB, or else from the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import time
import uuid
from contextlib import closing, contextmanager
from datetime import date

import nbformat
import psutil
import requests
import websocket
from simulated_students import fill_notebook

PROGRAMS = ("jupyterhub", "jupyterhub-singleuser", "configurable-http-proxy")
PATIENCE = 600  # seconds that one step may take
CONFIG = """
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "{password}"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/home/{{username}}"
c.Spawner.args = {arguments}
c.Spawner.start_timeout = c.Spawner.http_timeout = {patience}
"""


class TrialError(Exception):
    """What went wrong in the trial."""


# --- The hub --------------------------------------------------------------------------------------------------------


def find_hub():
    """Put BLACKBOARD_HUB before the PATH; the programs of the hub that are then still missing."""
    os.environ["PATH"] = os.pathsep.join(filter(None, (os.environ.get("BLACKBOARD_HUB"), os.environ["PATH"])))
    return [name for name in PROGRAMS if not shutil.which(name)]


def find_ports(count):
    """Ports that nobody listens on."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


@contextmanager
def running_hub(folder, password):
    """A hub in a folder: its process and its address. It ends with all that it started."""
    port, hub_port, proxy_port = find_ports(3)
    arguments = ["--allow-root"] if os.getuid() == 0 else []  # as in a container, where there is no other user
    settings = dict(port=port, hub_port=hub_port, proxy_port=proxy_port, password=password, folder=folder)
    (folder / "config.py").write_text(CONFIG.format(**settings, arguments=arguments, patience=PATIENCE), "utf8")
    with open(folder / "hub.log", "w") as log:
        hub = subprocess.Popen(["jupyterhub", "--config", "config.py"], cwd=folder, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/hub/api/", hub, folder / "hub.log")
        yield hub, f"http://127.0.0.1:{port}"
    finally:
        end(hub)


def wait_for(address, hub, log):
    """Wait until the hub answers."""
    until = time.monotonic() + PATIENCE
    while hub.poll() is None and time.monotonic() < until:
        try:
            return requests.get(address, timeout=PATIENCE).raise_for_status()
        except requests.RequestException:
            time.sleep(0.5)
    raise TrialError(f"The hub did not start:\n{log.read_text()[-2000:]}")


def end(hub):
    """Ask the hub to stop its servers and itself; whatever is left is killed."""
    family = list_processes(hub)
    hub.terminate()
    _, left = psutil.wait_procs(family, timeout=60)
    for process in left:
        process.kill()


def list_processes(hub):
    """The hub and all that it started."""
    try:
        process = psutil.Process(hub.pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def measure(hub, count):
    """How many processes there are of each kind, and their mean RSS, PSS and CPU seconds.

    Each student must have a server, and either all or none of them a kernel.
    """
    found = {"hub": [], "server": [], "kernel": []}
    for process in list_processes(hub):
        line = " ".join(process.cmdline())
        kind = "kernel" if "ipykernel" in line else "server" if "singleuser" in line else "hub"
        memory, cpu = process.memory_full_info(), process.cpu_times()
        found[kind].append({"rss": memory.rss, "pss": memory.pss, "cpu": cpu.user + cpu.system})
    if len(found["server"]) != count or len(found["kernel"]) not in (0, count):
        raise TrialError(f"{count} students have {len(found['server'])} servers and {len(found['kernel'])} kernels.")
    return {kind: {"processes": len(rows)} | average(rows) for kind, rows in found.items()}


def average(rows):
    """The mean of each column."""
    return {name: statistics.fmean(row[name] for row in rows) for name in (rows[0] if rows else ())}


# --- A student ------------------------------------------------------------------------------------------------------


class Client:
    """A student's browser: logged in, with a token for the rest."""

    def __init__(self, address, name, password):
        self.address, self.name, self.session = address, name, requests.Session()
        self.ask("GET", "/hub/login")
        form = {"username": name, "password": password, "_xsrf": self.session.cookies["_xsrf"]}
        self.ask("POST", "/hub/login", data=form, allow_redirects=False)
        key = {"X-XSRFToken": self.session.cookies["_xsrf"]}
        self.token = self.ask("POST", f"/hub/api/users/{name}/tokens", headers=key).json()["token"]
        self.session = requests.Session()  # the token alone: a cookie beside it would need its key each time
        self.session.headers["Authorization"] = f"token {self.token}"

    def ask(self, method, path, **more):
        """One request; whatever is no success ends the trial."""
        answer = self.session.request(method, self.address + path, timeout=PATIENCE, **more)
        if not answer.ok:
            raise TrialError(f"{self.name}: {method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer

    def start_server(self):
        """Seconds from asking for the server until the hub says that it is ready."""
        begin = time.perf_counter()
        self.ask("POST", f"/hub/api/users/{self.name}/server")
        with self.ask("GET", f"/hub/api/users/{self.name}/server/progress", stream=True) as told:
            events = [json.loads(line[6:]) for line in told.iter_lines() if line.startswith(b"data: ")]
        if not events[-1].get("ready"):
            raise TrialError(f"{self.name}: no server: {events[-1]}")
        return time.perf_counter() - begin

    def work(self, student, notebook, name, file):
        """Open the notebook, run it with the student's answers, and hand in; seconds to the first and last result."""
        contents = f"/user/{self.name}/api/contents/"
        self.ask("PUT", contents + name, json={"type": "notebook", "format": "json", "content": notebook})
        opened = nbformat.from_dict(self.ask("GET", contents + name).json()["content"])
        begin = time.perf_counter()
        given = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
        kernel = self.ask("POST", f"/user/{self.name}/api/sessions", json=given).json()["kernel"]["id"]
        cells, times = fill_notebook(opened, student), []
        with closing(Channel(self, kernel)) as channel:
            for cell in cells:
                channel.run(cell)
                times.append(time.perf_counter() - begin)
        file.write_text(self.ask("GET", contents + "answers.json").json()["content"], "utf8")
        return times[0], times[-1], len(cells)


class Channel:
    """A kernel's websocket."""

    def __init__(self, client, kernel):
        self.client, self.session = client, uuid.uuid4().hex
        server = f"{client.address.replace('http', 'ws', 1)}/user/{client.name}"
        self.address = f"{server}/api/kernels/{kernel}/channels?session_id={self.session}"
        self.connect()

    def connect(self):
        """Open the websocket; what the kernel said to the same session while it was closed comes first."""
        key = [f"Authorization: token {self.client.token}"]
        self.socket = websocket.create_connection(self.address, timeout=PATIENCE, header=key)

    def close(self):
        """Close the websocket."""
        self.socket.close()

    def keep(self, action):
        """Do something with the websocket. A server under load may drop it; JupyterLab then connects again, as here."""
        while True:
            try:
                return action(self.socket)
            except (websocket.WebSocketConnectionClosedException, ConnectionError):
                print(f"{self.client.name}: the connection was lost and is made again", flush=True)
                self.connect()

    def receive(self):
        """The next message."""
        return json.loads(self.keep(lambda socket: socket.recv()))

    def run(self, code):
        """Run a cell and wait for the kernel's reply; an exception in it ends the trial."""
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "session": self.session}
        header |= {"username": self.client.name, "version": "5.3", "date": f"{date.today()}T00:00:00Z"}
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        asked = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        self.keep(lambda socket: socket.send(json.dumps(asked)))
        told = self.receive()
        while told["msg_type"] != "execute_reply" or told["parent_header"].get("msg_id") != header["msg_id"]:
            told = self.receive()
        if told["content"]["status"] != "ok":
            said = f"{told['content'].get('ename')}: {told['content'].get('evalue')}"
            raise TrialError(f"{self.client.name}: {said} in\n{code}")
