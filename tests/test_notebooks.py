"""The notebooks a reader works in show, cell for cell, what they show when run again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOUND = [path.relative_to(ROOT) for path in (ROOT / "exercises").rglob("*.ipynb")]
NOTEBOOKS = sorted(path.as_posix() for path in FOUND if ".ipynb_checkpoints" not in path.parts)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_running_it_again_gives_the_outputs_committed(notebook):
    """nbval, strict: every stored output is compared."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib"), "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "--nbval-cell-timeout",
        "300",
        "-q",
        "-p",
        "no:cacheprovider",
        notebook,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
