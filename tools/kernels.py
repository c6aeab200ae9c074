"""The processes that notebooks run in. Where the platform can fork, a kernel is forked from a warm process that has
imported what most lessons need; elsewhere it is an ordinary process. Either tells at its end which files it used.
"""

import functools
import gc
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent
# What most lessons import, and none of the lessons themselves: a lesson counts as used only where a cell imports it.
LIBRARY = ["page.practice", "page.tables", "page.summary", "charts.controls", "page.derivation", "charts.drawing"]
warm = False  # whether there is a warm process to fork
KERNEL = ["ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger"]
WARM = [*KERNEL, "myst_nb.ext.glue", "matplotlib.pyplot", "matplotlib.backends.backend_svg", "scipy.optimize"]


# --- In the kernel's process ---------------------------------------------------------------------------------------


def used(opened):
    """The project's own files that this process has imported or opened, relative to the project's root."""
    start, made = f"{ROOT}{os.sep}", ("tools", "_build", ".venv")
    loaded = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    inside = [Path(path.removeprefix(start)) for path in {*loaded, *opened} if path.startswith(start)]
    written = [path for path in inside if path.parts[0] not in made and "__pycache__" not in path.parts]
    return sorted(path.as_posix() for path in written if (ROOT / path).is_file())


@functools.cache
def note_opened():
    """The files that this process opens from now on. What is forked from it goes on with its own copy of the set, so
    that a kernel counts as a reader of what the warm process has read and kept.
    """
    opened = set()

    def note(event, arguments):
        if event == "open" and isinstance(arguments[0], str):
            opened.add(os.path.abspath(arguments[0]))

    sys.addaudithook(note)
    return opened


def serve(connection_file, folder, report, *options):
    """Be the kernel of a notebook until it ends; then write which files it used."""
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != TOOLS]
    os.chdir(folder)
    opened = note_opened()
    gc.freeze()  # what is there now stays: to look for garbage in it again and again costs a fifth of the time
    gc.set_threshold(100_000, 20, 100)
    if os.environ.get("BLACKBOARD_PAGE"):
        options += ("--InlineBackend.figure_formats=set()",)  # a Drawing brings its SVG; IPython would add a PNG
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance([f"--f={connection_file}", *options])
    Path(report).write_text(json.dumps(used(opened)), "utf8")


def serve_forked(*arguments):
    """The same in a forked process, which ends with the warm one; the kernel's own log is not the lesson's."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    serve(*arguments, f"--IPKernelApp.parent_handle={os.getppid()}")


# --- In the build's process ----------------------------------------------------------------------------------------


def can_fork():
    """Whether kernels are forked; not on macOS, whose system libraries do not survive it."""
    return "forkserver" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def warm_up(count):
    """Start the warm process, if it pays for so many notebooks; it imports while this one goes on."""
    global warm
    warm = can_fork() and count >= 3
    if warm:
        from multiprocessing import forkserver

        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel sets it before it imports
        multiprocessing.set_forkserver_preload(["warm"])
        own = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(TOOLS), own])  # Python 3.11 does not hand sys.path on
        forkserver.ensure_running()
        os.environ["PYTHONPATH"] = own


class Child:
    """A forked process, with what a kernel's manager asks of a subprocess."""

    stdin = stdout = stderr = None

    def __init__(self, *arguments):
        """Fork it."""
        self.process = multiprocessing.get_context("forkserver").Process(target=serve_forked, args=arguments)
        self.process.start()
        self.pid = self.process.pid

    def poll(self):
        """The exit status, or None while it runs."""
        return self.process.exitcode

    def wait(self):
        """The exit status, once there is one."""
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number):
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self):
        """End it at once."""
        self.process.kill()

    def terminate(self):
        """Ask it to end."""
        self.process.terminate()


class Provisioner(LocalProvisioner):
    """Starts a kernel as a fork of the warm process, or as an ordinary process."""

    async def launch_kernel(self, cmd, cwd=None, **kwargs):
        """The connection's description."""
        arguments = [self.parent.connection_file, str(cwd), str(self.parent.report)]
        if not warm:
            ordinary = [sys.executable, __file__, *arguments]
            return await super().launch_kernel(ordinary, cwd=cwd, stderr=subprocess.DEVNULL, **kwargs)
        self.process = Child(*arguments)
        self.pid, self.cwd = self.process.pid, cwd
        return self.connection_info


class Manager(AsyncKernelManager):
    """A kernel's manager; `report` is the file in which the kernel says what it used."""

    def __init__(self, report, **kwargs):
        """As any manager."""
        super().__init__(**kwargs)
        self.report = report

    async def _async_pre_start_kernel(self, **kwargs):
        if self.provisioner is None:
            self.kernel_id = str(uuid.uuid4())
            self.provisioner = Provisioner(kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self)
        return await super()._async_pre_start_kernel(**kwargs)

    pre_start_kernel = _async_pre_start_kernel


async def execute(client):
    """Run an nbclient's notebook in such a kernel; the project's files that it used, or None if it did not tell."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "used.json"
        client.km = Manager(report=report)
        client.owns_km = True
        await client.async_execute()
        return json.loads(report.read_text("utf8")) if report.exists() else None


if __name__ == "__main__":
    serve(*sys.argv[1:])
