"""The one entry point: `python tools/course.py book|test|lab|exercises|bench|lock|clean`.

Standard library only, because it runs before anything is installed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
STAMP = VENV / "installed"
VERSIONS = [(3, 11), (3, 12), (3, 13)]
UV = "uv==0.13.8"  # resolves the lock; needed by `lock` alone, so not in it


def run(*command, **kwargs):
    """Run a command in the project's root and return its exit status."""
    return subprocess.call([str(part) for part in command], cwd=str(ROOT), **kwargs)


def stop(message):
    """Leave with a message a person can act on."""
    sys.exit("\n" + message)


def version_of(command):
    """(major, minor) of a Python command, or None where there is none."""
    probe = "import sys; print(*sys.version_info[:2])"
    try:
        out = subprocess.check_output([command, "-c", probe], stderr=subprocess.DEVNULL)
        return tuple(int(part) for part in out.split())
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def find_python():
    """This Python if it will do, else another on the PATH."""
    if sys.version_info[:2] in VERSIONS:
        return sys.executable
    for name in ["python3.12", "python3.13", "python3.11", "python3", "python"]:
        if version_of(name) in VERSIONS:
            return name
    stop(
        "The course needs Python 3.11, 3.12 or 3.13; this is %d.%d (%s).\n"
        "Install one of them and run again, or name it: make book PYTHON=/path/to/python3.12"
        % (*sys.version_info[:2], sys.executable)
    )


def in_venv(name):
    """Path of a program inside the virtual environment."""
    windows = os.name == "nt"
    return VENV / ("Scripts" if windows else "bin") / (name + (".exe" if windows else ""))


def fingerprint():
    """What the virtual environment was made from."""
    return hashlib.sha256(LOCK.read_bytes() + str(ROOT).encode()).hexdigest()


def set_up():
    """Make .venv from the lock, unless it is there and the lock has not changed."""
    if STAMP.exists() and STAMP.read_text() == fingerprint() and in_venv("python").exists():
        return
    python = find_python()
    print("setting up .venv from requirements.lock (a minute or two, once)", flush=True)
    if run(python, "-m", "venv", "--clear", VENV):
        stop("Could not make .venv. On Debian and Ubuntu: apt-get install python3-venv")
    pip = [in_venv("python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if run(*pip, "--require-hashes", "-r", LOCK):
        stop(
            "The packages could not be installed (see the lines above).\n"
            "If a download failed, check the network and run the same command again; what has arrived is kept.\n"
            "If a hash differs, do not go on: the package is not the one the lock names."
        )
    if run(*pip, "--no-build-isolation", "--no-deps", "--editable", ROOT):
        stop("The course's own library in lib/ could not be installed (see the lines above).")
    STAMP.write_text(fingerprint())


def lock():
    """Resolve requirements.in into requirements.lock, for every platform and Python we support."""
    command = [
        "pip",
        "compile",
        "--universal",
        "--python-version",
        "3.11",
        "--fork-strategy",
        "fewest",
        "--generate-hashes",
        "--no-emit-index-url",
        "--no-annotate",
        "--no-header",
        "--quiet",
        "requirements.in",
        "--output-file",
        LOCK,
    ]
    with tempfile.TemporaryDirectory() as scratch:
        run(find_python(), "-m", "venv", scratch)
        programs = Path(scratch) / ("Scripts" if os.name == "nt" else "bin")
        return run(programs / "python", "-m", "pip", "install", "--quiet", UV) or run(programs / "uv", *command)


def clean():
    """Remove everything that was made: the environment, the site, the caches."""
    for made in [".venv", "_build", ".pytest_cache", ".hypothesis"]:
        shutil.rmtree(str(ROOT / made), ignore_errors=True)
    return 0


COMMANDS = {
    "book": ("build the site into _build/html, or one lesson: book paging", ["python", "tools/build.py"]),
    "test": ("run every test", ["python", "-m", "pytest"]),
    "lab": ("open JupyterLab on the exercises", ["jupyter-lab", "exercises"]),
    "exercises": ("run the exercise notebooks anew, in place", ["python", "tools/exercises.py"]),
    "bench": ("print the benchmark", ["python", "tools/bench.py"]),
    "lock": ("resolve requirements.in again", lock),
    "clean": ("remove what was made", clean),
}


def main(arguments):
    """Carry out one command; further arguments go to the program it starts."""
    if not arguments or arguments[0] not in COMMANDS:
        print("usage: python tools/course.py COMMAND\n")
        print("\n".join("  %-9s %s" % (name, what) for name, (what, _) in COMMANDS.items()))
        return 2
    action = COMMANDS[arguments[0]][1]
    if callable(action):
        return action()
    set_up()
    lesson = [os.environ["LESSON"]] if arguments == ["book"] and os.environ.get("LESSON") else []
    return run(in_venv(action[0]), *(action[1:] + arguments[1:] + lesson))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
