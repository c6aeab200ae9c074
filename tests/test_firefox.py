"""Code in the page, in Firefox too: a step of a lab, a function, a cell, and the keyboard in an editor."""

import os
import re

import pytest
from firefox import find_firefox, open_firefox
from page_evidence import OPEN
from test_labs import lab
from test_page_code import FUNCTION, LOOP, RIGHT

STEP = lab("batching").steps[0]
ESCAPE, TAB = "\ue00c", "\ue004"
# Write a text into the editor of a part of the page, press a button of that part, and wait for what is said.
SAY = """async (part, text, button) => {
  const box = document.querySelector(part), area = () => box.querySelector("textarea");
  const press = (name) => [...box.querySelectorAll("button")].find((each) => each.textContent === name).click();
  for (let fold = box.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (!area()) press("Edit");
  area().value = text;
  area().dispatchEvent(new Event("input"));
  const out = box.querySelector(".practice-out, .lab-out");
  out.replaceChildren();
  press(button);
  while (!out.firstChild || out.querySelector(".lab-state")) await new Promise((done) => setTimeout(done, 50));
  return out.innerText;
}"""


@pytest.fixture(scope="module")
def firefox(with_python, server):
    """A Firefox at a lesson's page."""
    pytest.importorskip("websocket", reason="websocket-client is not installed")
    if not find_firefox():
        (pytest.fail if os.environ.get("EVERY_BROWSER") else pytest.skip)("no Firefox found")
    with open_firefox(find_firefox()) as opened:
        opened.open(f"{server}/book/batching.html")
        yield opened


def say(firefox, part, text, button="Check"):
    """What the page says of a text."""
    import json

    return firefox.evaluate(f"({SAY})({json.dumps(part)}, {json.dumps(text)}, {json.dumps(button)})")


def test_a_step_of_a_lab_is_solved(firefox):
    part = f"[data-step={STEP.name}]"
    assert "Not attempted" in say(firefox, part, STEP.starter)
    assert "Right." in say(firefox, part, STEP.source)


def test_a_function_and_a_cell_run(firefox):
    assert "Right." in say(firefox, f"practice-box[data-problem={FUNCTION.id}]", RIGHT)
    assert say(firefox, LOOP, "print('hello')\n2 + 3", "Run").split() == ["hello", "5"]


DRAWN = """async () => {
  const box = document.querySelector("lab-box");
  await box.draw();
  return Boolean(box.querySelector(".lab-drawn svg"));
}"""


def test_the_last_chart_is_drawn(firefox):
    assert firefox.evaluate(f"({DRAWN})()")


def test_too_much_memory_ends(firefox):
    said = say(firefox, LOOP, "kept = []\nwhile True: kept.append(bytearray(10**8))", "Run")
    assert "memory" in said or "Stopped." in said
    assert say(firefox, LOOP, "print('back')", "Run").strip() == "back"


def test_what_is_written_outlives_a_reload(firefox, server):
    say(firefox, f"[data-step={STEP.name}]", STEP.source)
    firefox.open(f"{server}/book/batching.html")
    assert firefox.evaluate(f"document.querySelector('[data-step={STEP.name}] textarea').value") == STEP.source
    assert "passed" in firefox.evaluate(f"document.querySelector('[data-step={STEP.name}] .lab-mark').textContent")


def test_an_endless_loop_is_stopped(firefox):
    assert say(firefox, LOOP, "print('on')", "Run").strip() == "on"
    firefox.evaluate("void (course.python.seconds.cell = 3)")
    assert "ran for too long" in say(firefox, LOOP, "while True: pass", "Run")
    assert say(firefox, LOOP, "print('back')", "Run").strip() == "back"


def test_the_editor_has_keys_undo_and_a_way_out(firefox):
    area = f"document.querySelector('[data-step={STEP.name}] textarea')"
    firefox.evaluate(f"{area}.parentElement.editor.wake().then(() => void ({area}.value = '', {area}.focus()))")
    firefox.press(*"if x:", "\ue006", *"y", TAB)
    assert firefox.evaluate(f"{area}.value") == "if x:\n    y   "
    firefox.evaluate(f"void ({area}.select(), document.execCommand('undo'))")
    assert re.match(r"if x:\n    y?$", firefox.evaluate(f"{area}.value"))
    firefox.evaluate(f"{area}.focus()")
    firefox.press(ESCAPE, TAB)
    assert firefox.evaluate("document.activeElement.textContent") == "Check"


def test_an_editors_layers_lie_on_each_other(firefox):
    from test_lab_page import LAYERS

    firefox.evaluate(OPEN)
    layers = firefox.evaluate(f"({LAYERS})()")
    assert layers and [each for each in layers if each["hides"] or each["apart"] or each["high"]] == []
