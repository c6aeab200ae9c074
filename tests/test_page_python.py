"""What a page's Python imports of the course, and a site that has none."""

import io
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from test_labs import WITH_LAB

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import page_python  # noqa: E402


@pytest.fixture(scope="module")
def archive():
    """The archive of the course's own files."""
    return page_python.archive_own()


def test_the_archive_is_the_same_for_the_same_files(archive):
    assert page_python.archive_own() == archive
    assert len(archive) < 1_000_000


def test_libraries_bear_no_date_of_their_making(monkeypatch, tmp_path):
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("some/__init__.py", "VALUE = 1\n" * 100)
    made = []
    for hour in (0, 1_700_000_000):
        monkeypatch.setattr(time, "time", lambda hour=hour: hour + 400_000_000)
        target = tmp_path / f"{hour}.zip"
        zipfile.ZipFile(target, "w").close()
        page_python.add_wheel(wheel, target)
        made.append(target.read_bytes())
    assert made[0] == made[1] and len(made[0]) < 500, "dated, or not compressed"


def test_libraries_come_compiled():
    """All but the one that is a compiled wheel. (The course's own files come as text, since labs show their source.)"""
    if not page_python.HERE.exists():
        pytest.skip("Python for the book's pages was not fetched")
    with zipfile.ZipFile(page_python.HERE / "libraries.zip") as packed:
        names = packed.namelist()
    assert {name.split("/")[0] for name in names if name.endswith(".py")} <= {page_python.COMPILED}
    assert {f"{name}/__init__.pyc" for name in ("sympy", "mpmath", "pint")} <= set(names)


def test_every_lab_runs_from_the_archive_alone(archive, tmp_path):
    """Its data come as JSON, and it needs neither PyYAML nor NumPy."""
    zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path)
    absent = "; ".join(f"sys.modules[{name!r}] = None" for name in ("numpy", "scipy", "matplotlib", "vl_convert"))
    ask = [f'worker.draw("{lesson}", {{}})["spec"]' for lesson in WITH_LAB]
    lines = [
        f"import sys; {absent}",
        "from blackboard.page import lab_worker as worker",
        *ask,
        "print(worker.__file__)",
    ]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=environment)
    assert ran.stdout.startswith(str(tmp_path)), ran.stderr


def test_a_worker_answers_in_json():
    """As the page's script asks, and steady under code that prints without end."""
    import json

    from blackboard.page.lab_worker import LONGEST, answer

    ask = {"ask": "check", "lesson": "sparsity", "step": "choose_experts", "earlier": {}}
    text = "print('x' * 10**7)\nfor n in range(10**4): print(n)\n"
    said = json.loads(answer(json.dumps(ask | {"text": text})))
    assert said["kind"] == "missing" and len(said["printed"]) <= LONGEST + 2
    broken = {"ask": "draw", "lesson": "sparsity", "sources": {"touched_share": "def touched_share(*_): 1 / 0"}}
    assert json.loads(answer(json.dumps(broken)))["kind"] == "crash"


def test_a_site_without_python_has_the_labs_scripts(monkeypatch, tmp_path):
    monkeypatch.setattr(page_python, "HERE", tmp_path / "absent")
    (tmp_path / "site" / "python").mkdir(parents=True)
    page_python.install(tmp_path / "site")
    scripts = ["boxes.js", "cells.js", "editor.js", "lab.css", "lab.js", "notebooks", "python.js", "worker.js"]
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == scripts


def test_without_npm_the_build_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(page_python.shutil, "which", lambda _: None)
    with pytest.raises(page_python.Unavailable, match="npm is not installed"):
        page_python.fetch_package("pyodide", tmp_path)


def test_another_file_than_the_pinned_one_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(page_python, "find", lambda name: name)
    tarball = tmp_path / f"pyodide-{page_python.VERSION}.tgz"
    monkeypatch.setattr(page_python, "run", lambda *_, cwd: tarball.write_bytes(b"other"))
    with pytest.raises(page_python.Unavailable, match="is not the file"):
        page_python.fetch_package("pyodide", tmp_path)


def test_the_compiled_library_is_the_locks():
    """Its wheel for pages is checked by the same hashes as that for this machine."""
    lock = (ROOT / "requirements.lock").read_text("utf8")
    assert re.search(rf"^{page_python.COMPILED}==", lock, re.M)


def test_scripts_name_no_other_host():
    for script in (ROOT / "book" / "_labs").iterdir():
        addresses = re.findall(r"https?://[^\s\"'<`]+", script.read_text("utf8"))
        assert set(addresses) <= {"http://localhost:8000"}, script.name
