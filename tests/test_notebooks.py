"""The notebooks a reader works in show, cell for cell, what they show when run again."""

import contextlib
import copy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from nbformat.v4 import new_code_cell, new_notebook, new_output, output_from_msg

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import kernels  # noqa: E402

import exercises  # noqa: E402

FOUND = [path.relative_to(ROOT) for path in (ROOT / "exercises").rglob("*.ipynb")]
NOTEBOOKS = sorted(path.as_posix() for path in FOUND if ".ipynb_checkpoints" not in path.parts)
PASSING = ("status", "execute_input", "execute_reply", "comm_open", "comm_msg", "comm_close")  # no output
SEEN_ONLY = ("image/png", "application/vnd.jupyter.widget-view+json")  # whose bytes differ from one run to the next


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a kernel for a connection file and a folder, as the build does."""
    kernels.warm_up(len(NOTEBOOKS))
    report = str(tmp_path_factory.mktemp("kernels") / "used.json")
    alone = [sys.executable, ROOT / "tools" / "kernels.py"]
    return lambda *where: kernels.Child(*where, report) if kernels.warm else subprocess.Popen([*alone, *where, report])


@contextlib.contextmanager
def kernel(start, folder, place):
    """A client of a new kernel that works in a folder."""
    file, _ = write_connection_file(str(place / "kernel.json"))
    start(file, str(folder))
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    client.start_channels(hb=False)  # no heartbeat: a kernel that is starting has none yet
    try:
        client.wait_for_ready(timeout=120)
        yield client
    finally:
        client.shutdown()
        client.stop_channels()


def rerun(client, cell):
    """The outputs of a cell that is run; an exception ends the test with its traceback."""
    messages = []
    reply = client.execute_interactive(cell.source, allow_stdin=False, output_hook=messages.append, timeout=300)
    content = reply["content"]
    assert content["status"] == "ok", f"{cell.source}\n\n" + "\n".join(content.get("traceback", []))
    return [output_from_msg(each) for each in messages if each["msg_type"] not in PASSING]


def shown(outputs):
    """What a reader sees of a cell's outputs: pieces of a printed text joined, all but counters and random ids."""
    seen = []
    for output in exercises.joined(copy.deepcopy(outputs)):
        kind = output.output_type
        if kind == "stream":
            seen.append((kind, output.name, output.text))
        else:
            data = {key: "is there" if key in SEEN_ONLY else value for key, value in output.get("data", {}).items()}
            seen.append((kind, output.get("ename"), data))
    return seen


def compare(notebook, run):
    """Every cell of a notebook, run by `run`, gives the outputs that stand in it."""
    for cell in (each for each in notebook.cells if each.cell_type == "code"):
        assert cell.execution_count is not None or not cell.outputs, f"not run, yet with outputs:\n{cell.source}"
        assert shown(run(cell)) == shown(cell.outputs), cell.source


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_running_it_again_gives_the_outputs_committed(notebook, start, tmp_path):
    """Strict: every output of every cell is compared, kind by kind and in its order."""
    path = ROOT / notebook
    with kernel(start, path.parent, tmp_path) as client:
        compare(nbformat.read(path, as_version=4), lambda cell: rerun(client, cell))


def test_a_kernel_starts_with_what_the_warm_process_has(start, tmp_path):
    """Without it every notebook would import the same for seconds, and nobody would notice."""
    if not kernels.warm:
        pytest.skip("no forked kernels here")
    wanted = [*kernels.WARM, *(f"blackboard.{name}" for name in kernels.LIBRARY)]
    source = f"import sys\nprint(set({wanted}) <= set(sys.modules), sys.modules['rfc3987_syntax'])"
    with kernel(start, tmp_path, tmp_path) as client:
        assert rerun(client, new_code_cell(source))[0].text == "True None\n"


SMALL = [
    "import sys, time\nfrom pathlib import Path\nfrom IPython.display import HTML, Markdown, display",
    "print('one')\nprint('two')",
    "display(HTML('<b>3</b>'))\nMarkdown('4')",
    "print('words')\nprint('a warning', file=sys.stderr)",
    "Path.cwd().name",
]


@pytest.fixture(scope="module")
def small(start, tmp_path_factory):
    """A notebook of a few cells with the outputs of a first run, and those of a second, by the cell's source."""
    notebook, second = new_notebook(cells=[new_code_cell(source) for source in SMALL]), {}
    folder = tmp_path_factory.mktemp("small")
    with kernel(start, folder, folder) as client:
        for count, cell in enumerate(notebook.cells, 1):
            cell.outputs, cell.execution_count = rerun(client, cell), count
            second[cell.source] = rerun(client, cell)
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            rerun(client, new_code_cell("1 / 0"))
    assert notebook.cells[-1].outputs[0].data["text/plain"] == repr(folder.name), "it works in another folder"
    return notebook, second


def test_outputs_that_are_the_same_pass(small):
    """Counters aside, the second run is the first; and printed text may come in other pieces."""
    notebook, second = copy.deepcopy(small)
    assert [len(cell.outputs) for cell in notebook.cells] == [0, 1, 2, 2, 1]
    notebook.cells[1].outputs = [new_output("stream", name="stdout", text=part) for part in ("one\n", "two\n")]
    compare(notebook, lambda cell: second[cell.source])


@pytest.mark.parametrize(
    ("cell", "alter"),
    [
        (0, lambda outputs: outputs.append(new_output("stream", name="stdout", text="more"))),
        (1, lambda outputs: outputs[0].update(text="one\ntwo")),
        (1, lambda outputs: outputs[0].update(name="stderr")),
        (1, lambda outputs: outputs.clear()),
        (2, lambda outputs: outputs[0].data.update({"text/html": "<b>4</b>"})),
        (2, lambda outputs: outputs[1].data.update({"text/markdown": "5"})),
        (2, lambda outputs: outputs[1].data.pop("text/plain")),
        (2, lambda outputs: outputs[1].data.update({"image/png": ""})),
        (2, lambda outputs: outputs[0].update(output_type="execute_result", execution_count=1)),
        (2, lambda outputs: outputs.reverse()),
        (3, lambda outputs: outputs.pop()),
        (4, lambda outputs: outputs[0].data.update({"text/plain": "'elsewhere'"})),
    ],
)
def test_an_output_that_was_altered_is_found(small, cell, alter):
    """A text, a kind, an order, one too many or too few."""
    notebook, second = copy.deepcopy(small)
    alter(notebook.cells[cell].outputs)
    with pytest.raises(AssertionError):
        compare(notebook, lambda cell: second[cell.source])


def test_outputs_of_a_cell_that_was_not_run_are_refused(small):
    notebook, second = copy.deepcopy(small)
    notebook.cells[1].execution_count = None
    with pytest.raises(AssertionError, match="not run"):
        compare(notebook, lambda cell: second[cell.source])
