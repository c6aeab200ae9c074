"""Python for the book's pages: Pyodide and the libraries that a lab imports, fetched once into .venv/page-python.

Run by course.py after an installation. Where npm or Node.js is missing, or cannot fetch, the book is built without:
a lab's page then sends its reader to the notebook.
"""

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / ".venv" / "page-python"
VERSION = "314.0.7"  # and with it Python 3.14 and the platform below
TARBALLS = {  # {package: (version, hash)}
    "pyodide": (
        VERSION,
        "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    ),
    "temml": (  # which sets the formulas of what a cell shows when it runs in the page
        "0.13.5",
        "sha512-aPkDDgunanpLNL0ql32HbolqLep+w8DRcVXRql7rWrMt/PhczdLgL4UBYYVU3BYjCNjkGq4EqwIicu/zWr1iOg==",
    ),
}
PLATFORM = ["--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--abi", "cp314"]
PURE = ["sympy", "mpmath", "pint", "flexparser", "flexcache", "platformdirs", "typing_extensions"]
COMPILED = "msgspec"
# Everything that a page imports is called .js: there are servers that do not take .mjs for a script.
FILES = {
    "pyodide.mjs": "pyodide.js",
    "pyodide.asm.mjs": "pyodide.asm.js",
    "pyodide.asm.wasm": "pyodide.asm.wasm",
}


class Unavailable(Exception):
    """Something that the book can do without could not be had."""


def run(*command, cwd):
    """Run a command; Unavailable with its last line if it fails."""
    ran = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if ran.returncode:
        raise Unavailable((ran.stderr.strip() or ran.stdout.strip() or str(command[0])).splitlines()[-1])


def find(program):
    """The path of a program."""
    return shutil.which(program) or _missing(program)


def _missing(program):
    raise Unavailable(f"{program} is not installed")


def fetch_package(name, folder):
    """A package from npm, unpacked; its hash must be the one above."""
    version, wanted = TARBALLS[name]
    run(find("npm"), "pack", f"{name}@{version}", "--silent", "--fetch-retries=0", cwd=folder)
    tarball = folder / f"{name}-{version}.tgz"
    found = "sha512-" + base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if found != wanted:
        raise Unavailable(f"{name} {version} is not the file that tools/page_python.py names: {found}")
    with tarfile.open(tarball) as archive:
        guard = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.2, Debian's, has no filters
        archive.extractall(folder / name, **guard)
    return folder / name / "package"


def fetch_compiled(folder):
    """The wheel of a library that is not pure Python, by the lock's version and hashes."""
    locked = re.search(rf"^{COMPILED}==.*(?:\n +--hash.*)+", (ROOT / "requirements.lock").read_text("utf8"), re.M)[0]
    (folder / "wanted.txt").write_text(locked)
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--quiet", *PLATFORM]
    run(sys.executable, "-m", "pip", "download", *options, "-r", "wanted.txt", "-d", folder, cwd=folder)
    return next(folder.glob(f"{COMPILED}-*.whl"))


def write_libraries(core, wheel, target):
    """Python's own library and one archive of all others, compiled by the Python that will run them."""
    installed, libraries = sysconfig.get_paths()["purelib"], target / "libraries.zip"
    script = ROOT / "tools" / "page_python.mjs"
    run(find("node"), script, core, target / "python_stdlib.zip", libraries, installed, *PURE, cwd=ROOT)
    add_wheel(wheel, libraries)


def add_wheel(wheel, target):
    """What a wheel holds, added to an archive."""
    with zipfile.ZipFile(target, "a") as archive, zipfile.ZipFile(wheel) as compiled:
        for name in compiled.namelist():
            archive.writestr(dateless(name), compiled.read(name))


def dateless(name):
    """A compressed file of an archive, with the same date at every hour."""
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def write_core(core, target):
    """The files of Pyodide that a page loads, and a list of further packages, of which there are none."""
    for name, ours in FILES.items():
        content = (core / name).read_bytes()
        for old, new in FILES.items() if name == "pyodide.mjs" else ():
            content = content.replace(old.encode(), new.encode())
        (target / ours).write_bytes(content)
    info = json.loads((core / "pyodide-lock.json").read_text("utf8"))["info"]
    (target / "pyodide-lock.json").write_text(json.dumps({"info": info, "packages": {}}))


def write_notice(target):
    """Whose work a reader's browser loads, and under which licences."""
    from importlib.metadata import metadata

    told = [
        f"pyodide {VERSION}: MPL-2.0, https://github.com/pyodide/pyodide",
        f"temml {TARBALLS['temml'][0]}: MIT, https://github.com/ronkok/Temml",
    ]
    for name in (*PURE, COMPILED):
        about = metadata(name)
        licence = about.get("License-Expression") or (about.get("License") or "see its pages").splitlines()[0]
        told.append(f"{name} {about['Version']}: {licence}")
    (target / "NOTICE.txt").write_text("\n".join(told) + "\n", "utf8")


def fetch():
    """Make the folder, whole or not at all."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        core, wheel, target = fetch_package("pyodide", folder), fetch_compiled(folder), folder / "made"
        target.mkdir()
        shutil.copyfile(fetch_package("temml", folder) / "dist" / "temml.min.js", target / "temml.js")
        write_libraries(core, wheel, target)
        write_core(core, target)
        write_notice(target)
        shutil.rmtree(HERE, ignore_errors=True)
        shutil.copytree(target, HERE)


# --- what the build puts into the site --------------------------------------------------------------------------------

LEFT_OUT = {"prediction", "validation", "reference", "__pycache__", "__main__.py"}  # no page needs them
YAML = """SafeLoader, YAMLError = None, ValueError


def load(text, loader):
    import json

    return json.loads(text)
"""  # stands in for PyYAML, since data come to a page as JSON


def own_files():
    """What the pages import of the course, by its place in the archive; data as JSON, which is faster to read."""
    import yaml
    from live_cells import lesson_names, read_cells

    library = ROOT / "lib"
    yield "yaml.py", YAML
    yield "blackboard/page/cells.json", json.dumps({lesson: read_cells(lesson) for lesson in lesson_names()})
    for path in sorted((library / "blackboard").rglob("*")):
        name = path.relative_to(library)
        if LEFT_OUT & set(name.parts):
            continue
        if path.suffix in (".py", ".txt"):
            yield name.as_posix(), path.read_text("utf8")
        if path.suffix == ".yaml":
            rows = yaml.load(path.read_text("utf8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            yield name.as_posix(), json.dumps(rows, separators=(",", ":"))


def archive_own():
    """The archive of the course's own files, the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in own_files():
            archive.writestr(dateless(name), text)
    return made.getvalue()


def write_notebooks(folder):
    """The lab of each exercise notebook, as a script that a page loads also from the disk."""
    from lab_cells import find_template

    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "exercises").glob("*.ipynb")):
        if template := find_template(path):
            (folder / f"{path.stem}.js").write_text(f"window.course.notebook = {template};\n", "utf8")


def install(target):
    """Python, where there is one, beside the labs' scripts in the site."""
    shutil.copytree(ROOT / "book" / "_labs", target, dirs_exist_ok=True)
    write_notebooks(target / "notebooks")
    if not HERE.exists():
        return shutil.rmtree(target / "python", ignore_errors=True)
    shutil.copytree(HERE, target / "python", dirs_exist_ok=True)
    (target / "python" / "course.zip").write_bytes(archive_own())


if __name__ == "__main__":
    print("fetching Python for the book's pages (once)", flush=True)
    try:
        fetch()
    except Unavailable as reason:
        print(f"The book will do without Python in its pages, and its labs need the notebook: {reason}.")
