"""A reader's code in a copy of the process: what it brings back, and what ends it."""

import gc
import itertools
import os
import pickle
import sys
import time

import pytest
from test_labs import lab

from blackboard import lab as engine
from blackboard.answers import Unreadable, calls
from blackboard.limits import Endless, run_apart
from blackboard.page import lab_view
from blackboard.page.practice import problems

pytestmark = pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="this system copies no processes")


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch):
    """No copy is left behind, running or ended, and no pipe stays open. (Other tests of this process have children of
    their own, such as a browser's.)
    """
    fork, copies = os.fork, []

    def watched():
        if pid := fork():
            copies.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", watched)
    gc.collect()  # what other tests dropped is closed now, not while one of these runs
    open_files = lambda: len(os.listdir("/dev/fd"))
    before = open_files()
    yield
    for pid in copies:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    assert open_files() <= before


def test_a_copy_brings_its_result_and_changes_nothing_here():
    kept = []
    assert run_apart(lambda: (kept.append(os.getpid()), kept * 2)[1], 1) != [os.getpid()] * 2
    assert kept == []


ENDLESS = {
    "sum": lambda *_, **__: sum(itertools.count()),
    "power": lambda *_, **__: 10**10**10,
    "any": lambda *_, **__: any(iter(int, 1)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_call_without_an_end_is_ended(name):
    start = time.process_time()
    with pytest.raises(Endless):
        run_apart(ENDLESS[name], 1)
    assert time.process_time() - start < 1, "this process waits"


def test_what_brings_no_result_runs_here():
    """A result that cannot be sent, an exception, and a copy that is gone."""
    assert run_apart(lambda: pickle.dumps, 1) is pickle.dumps
    assert next(run_apart(lambda: (n for n in (1, 2)), 1)) == 1
    here = os.getpid()
    with pytest.raises(ZeroDivisionError):
        run_apart(lambda: 1 / 0, 1)
    assert run_apart(lambda: 7 if os.getpid() == here else os._exit(3), 1) == 7


def asks(batch, server):
    return input("How much? ")


def test_nobody_types_in_a_copy():
    assert "nobody can type" in lab_view.lab("batching")["step_time"].check(asks).message


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to a limit of memory")
def test_a_copy_does_not_fill_the_memory():
    assert run_apart(lambda: takes(3 << 30), 5) == "refused" != run_apart(lambda: takes(1 << 30), 5)


def takes(size):
    """Whether there is so much memory; none of it is touched."""
    try:
        return bool(bytearray(size))
    except MemoryError:
        return "refused"


def test_a_notebooks_check_ends_whatever_it_calls(monkeypatch):
    monkeypatch.setattr(engine, "SECONDS", 0)  # and a second for the copy
    steps = lab_view.lab("batching")
    said = steps["step_time"].check(lambda batch, server: sum(itertools.count()))
    assert said.kind == "slow" and "`sum`" in said.message
    assert steps["step_time"].check(lab("batching")["step_time"].solution).ok


def test_a_functions_check_ends_whatever_it_calls():
    with pytest.raises(Unreadable, match="too long"):
        calls(lambda batch: sum(itertools.count()), [{"batch": 1}], seconds=0.2)
    with pytest.raises(Unreadable, match="too long"):
        calls(lambda batch: list(iter(int, 1)), [{"batch": 1}], seconds=0.2)
    assert "Right" in str(problems("batching")["step"].check(step))


def step(batch, context, n_active, n_total, bytes_per_param, kv_bytes_per_token, flops, bandwidth):
    loaded = n_total * bytes_per_param + batch * context * kv_bytes_per_token
    return max(2 * batch * n_active / flops, loaded / bandwidth)
