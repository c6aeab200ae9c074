"""The one entry point: `python tools/course.py COMMAND`; without a command it lists them all.

Standard library only, because it runs before anything is installed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"
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
    project = PROJECT.read_text("utf8").split("[tool.")[0]  # the settings of tools change nothing that is installed
    return hashlib.sha256((LOCK.read_text("utf8") + project + str(ROOT)).encode()).hexdigest()


def plain(name):
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for(group):
    """Names that pyproject.toml lists for a group, its own groups and the library's dependencies included."""
    import tomllib

    project = tomllib.loads(PROJECT.read_text("utf8"))["project"]
    names = {"setuptools"}  # puts the course's own library into the environment
    for requirement in project["dependencies"] + project["optional-dependencies"][group]:
        name, groups = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement).groups()
        own = plain(name) == plain(project["name"])
        names |= {plain(name)} if not own else set().union(*map(asked_for, groups.split(",")))
    return names


def subset(group):
    """The lines of the lock that a group needs. Each package there is followed by `# via` and what asks for it; should
    one be missing here, the installation stops, because it checks the hash of everything that it installs.
    """
    blocks = re.findall(r"^([\w.-]+)(==.*(?:\n[ #].*)*)", LOCK.read_text("utf8"), re.MULTILINE)
    needed, before = asked_for(group), set()
    while needed != before:
        before = set(needed)
        needed |= {name for name, rest in blocks if before & set(re.findall(r"# +(?:via )?([\w.-]+)$", rest, re.M))}
    return "".join(name + rest + "\n" for name, rest in blocks if name in needed)


def install(*what):
    """Install into .venv, with uv where the PATH has it, else or should that fail with pip; True if it worked."""
    pip = [in_venv("python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    uv = ["uv", "pip", "install", "--quiet", "--python", in_venv("python")]
    return any(run(*installer, *what) == 0 for installer in ([uv, pip] if shutil.which("uv") else [pip]))


def with_bytecode():
    """The environment, with a place for bytecode that leaves the source alone. Where Python is told to write none
    (PYTHONDONTWRITEBYTECODE), every kernel and every worker of the tests would translate SymPy anew, 3 s each.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return dict(kept, PYTHONPYCACHEPREFIX=str(VENV / "bytecode"))


def set_up(group):
    """Make .venv from the lock, unless it is there and the lock has not changed, and see that it has the group."""
    made = STAMP.read_text().split() if STAMP.exists() and in_venv("python").exists() else []
    fresh = made[:1] != [fingerprint()]
    if not fresh and group in made:
        return
    if VENV.is_symlink():
        stop(".venv is a link to another folder, which would be emptied. Remove the link and run the command again.")
    print("installing what '%s' needs into .venv, from requirements.lock (once)" % group, flush=True)
    if fresh and run(find_python(), "-m", "venv", "--clear", VENV):
        stop("Could not make .venv. On Debian and Ubuntu: apt-get install python3-venv")
    packages = VENV / (group + ".txt")
    packages.write_text(subset(group))
    if not install("--require-hashes", "-r", packages):
        stop(
            "The packages could not be installed (see the lines above).\n"
            "If a download failed, check the network and run the same command again; what has arrived is kept.\n"
            "If a hash differs, do not go on: the package is not the one the lock names."
        )
    if fresh and not install("--no-build-isolation", "--no-deps", "--editable", ROOT):
        stop("The course's own library in lib/ could not be installed (see the lines above).")
    if group in ("book", "test") and not (VENV / "page-python").exists():
        run(in_venv("python"), ROOT / "tools" / "page_python.py")  # which fails for nobody
    STAMP.write_text("\n".join([fingerprint()] + ([] if fresh else made[1:]) + [group]))


def lock():
    """Resolve pyproject.toml, with all its groups, into requirements.lock, for every platform and Python we support."""
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
        "--no-header",
        "--quiet",
        "--all-extras",
        "pyproject.toml",
        "--output-file",
        LOCK,
    ]
    with tempfile.TemporaryDirectory() as scratch:
        run(find_python(), "-m", "venv", scratch)
        programs = Path(scratch) / ("Scripts" if os.name == "nt" else "bin")
        return run(programs / "python", "-m", "pip", "install", "--quiet", UV) or run(programs / "uv", *command)


def clean():
    """Remove everything that was made: the environment, the site, the caches."""
    for made in [".venv", "_build", ".pytest_cache", ".mypy_cache", ".hypothesis"]:
        shutil.rmtree(str(ROOT / made), ignore_errors=True)
    return 0


COMMANDS = {
    "book": ("build the site into _build/html, or one lesson: book paging", ["python", "tools/build.py"]),
    "pdf": ("make the book as a PDF, _build/book.pdf", ["python", "tools/pdf.py"]),
    "epub": ("make the book as an ePub, _build/book.epub", ["python", "tools/epub.py"]),
    "test": ("lint, types, and every test", ["python", "tools/check.py", "--every"]),
    "check": ("lint, types, and the tests without browser and notebooks", ["python", "tools/check.py"]),
    "lab": ("open JupyterLab on your copy of the exercises, in work/", ["python", "tools/lab.py"]),
    "exercises": ("run the exercise notebooks anew, in place", ["python", "tools/exercises.py"]),
    "lesson": ("start a new lesson: lesson NAME", ["python", "tools/scaffold.py"]),
    "classroom": ("write a class's notebooks, or grade its answers", ["python", "tools/classroom.py"]),
    "bench": ("print the benchmark", ["python", "tools/bench.py"]),
    "lock": ("resolve pyproject.toml again", lock),
    "clean": ("remove what was made", clean),
}


GROUPS = {
    "book": "book",
    "pdf": "forms",
    "epub": "forms",
    "exercises": "book",
    "lab": "lab",
    "classroom": "lab",
}  # what a command needs of pyproject.toml; others all of test


def main(arguments):
    """Carry out one command; further arguments go to the program it starts."""
    if not arguments or arguments[0] not in COMMANDS:
        print("usage: python tools/course.py COMMAND\n")
        print("\n".join("  %-9s %s" % (name, what) for name, (what, _) in COMMANDS.items()))
        return 2
    if sys.version_info[:2] not in VERSIONS:
        return run(find_python(), __file__, *arguments)
    action = COMMANDS[arguments[0]][1]
    if callable(action):
        return action()
    set_up(GROUPS.get(arguments[0], "test"))
    lesson = os.environ.get("LESSON")
    only = {"book": [lesson], "check": ["-k", lesson]}.get(arguments[0], []) if lesson and not arguments[1:] else []
    return run(in_venv(action[0]), *(action[1:] + arguments[1:] + only), env=with_bytecode())


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
