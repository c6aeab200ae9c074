"""The planner's form in a browser: what is chosen, pasted, linked and copied, and what makes no sense."""

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, open_page, serve
from page_evidence import WHOLE

from blackboard import catalogue
from blackboard.planner import page as planner
from blackboard.planner.examples import NAMES, PROMISE, chosen_chips
from blackboard.prediction import predict_serving

CONFIGS = json.loads((Path(__file__).parent / "model_configs.json").read_text(encoding="utf-8"))
LLAMA = next(row["config"] for row in CONFIGS if row["model"] == "llama-3.1-70b")
DRAWN = """() => document.querySelector(":is(.planner-refused, .planner-chartless)") ||
  document.querySelector(".planner-chart path")"""
KEPT = "new Promise((done) => setTimeout(() => done(location.search), 50))"  # the address is changed after the answer
TINTS = {"background": "white", "primary": "blue", "danger": "red", "warning": "orange", "text-muted": "gray"}
SHADE = "tile => getComputedStyle(tile).backgroundColor"
FIELDS = "form => [...form.querySelectorAll('[name]')].map(({ name, value }) => [name, value])"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server of a page that has the form and the worked questions, and nothing else."""
    folder = tmp_path_factory.mktemp("planner")
    planner.write(folder)
    links = "".join(map(planner.load, NAMES))
    article = f'<div class="bd-content"><article class="bd-article">{planner.form()}{links}</article></div>'
    body = f'<link rel="stylesheet" href="planner.css">{article}<script src="planner.js"></script>'
    tints = ";".join(f"--pst-color-{name}: {tint}" for name, tint in TINTS.items())
    head = '<meta charset="utf-8"><link rel="icon" href="data:,"><title>planner</title>'
    face = "@font-face { font-family: Arial; src: url(sans-regular.woff2) }"  # what a page of the book has at the least
    head += f"<style>{face} :root {{ {tints} }} body {{ font-family: Arial }}</style>"
    shutil.copy(ROOT / "book" / "_static" / "sans-regular.woff2", folder)
    (folder / "planner.html").write_text(f'<!doctype html><html lang="en">{head}{body}', "utf8")
    with serve(folder) as base:
        yield f"{base}/planner.html"


@pytest.fixture
def opened(browser, address):
    """Open the page, with a query; at the end nothing has been asked of another host, and nothing was complained of."""
    with open_page(browser, address) as seen:

        def go(query=""):
            seen.page.goto(address + query)
            seen.page.wait_for_function(DRAWN)  # the chart comes after the first answer
            return seen.page

        yield go
        assert [url for url in seen.requests if not url.startswith((address.rpartition("/")[0], "data:"))] == []
        assert seen.complaints == []


def result(page):
    return page.locator(".planner-result").inner_text()


def speed(page):
    """Tokens per second of a user, as the page says it."""
    return float(re.search(r"gets ([\d.,]+) tokens/s", result(page))[1].replace(",", ""))


def choose(page, **values):
    page.locator(".planner-more").evaluate("fold => (fold.open = true)")
    for name, value in values.items():
        field = page.locator(f"[name={name}]")
        field.select_option(value) if field.evaluate("each => each.tagName") == "SELECT" else field.fill(str(value))


def test_a_choice_is_answered_and_kept_in_the_address(opened):
    page = opened()
    choose(page, model="deepseek-v3", chip="h200", chips=8, engine="sglang", prompt=8192, load=32, user=20)
    choose(page, expert="8", tensor="1", rent="2.5")
    p = predict_serving(
        "deepseek-v3", chip="h200", chips=8, tensor=1, expert=8, engine="sglang", prompt=8192, concurrency=32
    )
    assert speed(page) == pytest.approx(p.tokens_per_s_per_user, rel=5e-3)
    fields, query = page.locator("#plan").evaluate(FIELDS), page.evaluate(KEPT)
    assert query.startswith("?plan=1&") and "output" not in query  # what is as it was is not said
    again = opened(query)
    assert again.locator("#plan").evaluate(FIELDS) == fields
    again.get_by_role("button", name="Reset").click()
    assert again.evaluate(KEPT) == ""
    assert again.locator("#plan").evaluate(FIELDS) == opened().locator("#plan").evaluate(FIELDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_worked_question_loads_with_one_click(opened, name):
    linked = opened(planner.address(name)).locator("#plan").evaluate(FIELDS)
    page = opened()
    page.locator("a.planner-example").nth(NAMES.index(name)).click()
    page.wait_for_function(
        f"linked => JSON.stringify(({FIELDS})(document.querySelector('#plan'))) === JSON.stringify(linked)", arg=linked
    )
    assert page.locator(".planner-refused").count() == 0 and speed(page) > 1


def test_the_best_chips_are_those_of_the_text(opened):
    page = opened(planner.address("chips"))
    page.wait_for_selector("#plan[data-best]")
    first = page.locator(".planner-best tbody tr").first.inner_text()
    assert "3 years" in first and "3 years" in page.locator("[name=rent]").get_attribute("placeholder")
    best = chosen_chips()[0]
    assert first.startswith(f"{best.server.layout.chips} × {best.server.chip.name}")
    assert f"{best.server.users:g}" in first
    assert speed(page) >= PROMISE.user


ASKED = {"model": "llama-3.1-70b", "weights": "fp8", "prompt": 3500, "output": 1000}
MINE = "?plan=1&prompt=3500&output=1000&load=200&user=25&chips=8"


def compared(opened, query):
    """The page and the cells of the comparison, when it is finished."""
    page = opened(query)
    page.wait_for_selector("#plan[data-best]")
    return page, [line.split("\t") for line in page.locator(".planner-best tbody tr").all_inner_texts()]


@pytest.mark.parametrize("kind", ["demand", "contract"])
def test_chips_for_the_readers_users_are_ranked_by_rents_of_one_kind(opened, kind):
    """Every rent, the sum of an hour and both prices, by the library."""
    page, rows = compared(opened, f"{MINE}&rents={kind}")
    names = {chip.name: chip for chip in catalogue.chips()}
    contract = "three-year contract"
    hourly = []
    for chips, sharding, user, _, rent, hour, prices, _ in rows:
        count, name = chips.split(" × ")
        usd, said = re.split(r"\s+", rent.strip().removeprefix("$"), maxsplit=1)
        known = [r for r in names[name].rents if r.confirmed and (contract in r.kind) == (said == "3 years")]
        assert (said == "3 years") == (kind == "contract")
        assert float(usd) in [r.usd_per_chip_hour for r in known if r.date == max(each.date for each in known)]
        hourly.append(int(count) * float(usd))
        assert hour == f"${hourly[-1]:.2f}" and float(user) >= 25
        priced = next(r for r in known if r.usd_per_chip_hour == float(usd))
        p = predict_serving(
            **ASKED,
            chip=names[name].id,
            chips=int(count),
            tensor=int(sharding.removeprefix("TP ")),
            concurrency=200,
            rent=priced,
        )
        assert float(user) == pytest.approx(p.tokens_per_s_per_user, abs=0.051)
        told = [float(each.strip(" $")) for each in prices.split(",")]
        assert told == pytest.approx([p.usd_per_mtok_in, p.usd_per_mtok_out], rel=0.06)
    assert hourly == sorted(hourly) and len(rows) >= 5
    left = page.locator(".planner-best .planner-table p").all_inner_texts()
    listed = {name for name in names if any(row[0].endswith(f"× {name}") for row in rows)}
    assert all(any(name in each for each in left) for name in names.keys() - listed)
    assert ("MI300X" in left[-1]) == (kind == "demand")


def test_the_rent_follows_the_chip_until_one_is_entered(opened):
    page, rows = compared(opened, MINE)
    page.locator(".planner-best tbody button").nth(1).click()
    assert page.locator("[name=load]").input_value() == "200" and page.locator("[name=rent]").input_value() == ""
    choose(page, chip="h200")
    h200 = catalogue.chip("h200").rent()
    told = page.locator(".planner-trust").inner_text()
    assert f"${h200.usd_per_chip_hour} per chip-hour: {h200.kind}" in told and "entered" not in told
    assert "rent=" not in page.evaluate(KEPT) and "load=200" in page.evaluate(KEPT)
    choose(page, rent="2.1")
    assert "that you entered" in page.locator(".planner-trust").inner_text() and "rent=2.1" in page.evaluate(KEPT)


def test_a_rent_that_was_entered_is_of_its_chip(opened):
    page, rows = compared(opened, f"{MINE}&chip=h200&rent=0.5")
    own = next(n for n, row in enumerate(rows) if "H200" in row[0])
    assert "yours" in rows[own][4] and own == 0
    page.locator(".planner-best tbody button").nth(1).click()
    assert page.locator("[name=rent]").input_value() == "" and "rent=" not in page.evaluate(KEPT)


def test_an_address_of_older_rents_still_opens(opened):
    for scope, rents in (("newest", "demand"), ("contract", "contract")):
        page = opened(f"?plan=1&scope={scope}")
        assert page.locator("[name=scope]").input_value() == "full"
        assert page.locator("[name=rents]").input_value() == rents


def test_a_sharding_that_keeps_the_promise_is_named_where_the_chosen_one_breaks_it(opened):
    told = result(opened(MINE))
    slow, fast = (
        predict_serving(**ASKED, chip="h200", chips=8, tensor=tensor, concurrency=200).tokens_per_s_per_user
        for tensor in (8, 2)
    )
    assert slow < 25 < fast
    assert "misses the promise below, at least 25 tokens/s each" in told
    assert f"Try tensor parallel 2, which gives {fast:.1f} tokens/s" in told
    for query in (f"{MINE}&tensor=2", MINE.replace("user=25", "user=2000"), ""):
        assert "misses" not in result(opened(query))


def test_labels_say_what_is_counted(opened):
    page = opened()
    text = page.locator(".planner-form").text_content()
    assert "Longest prompt, tokens" in text and "Longest output, tokens" in text
    assert "per million tokens, prompts included" in page.locator(".planner-answer").inner_text()
    choose(page, prompt="")
    assert page.locator(".planner-error").inner_text() == "Longest prompt: enter a number."


def test_a_config_is_read_in_the_page(opened):
    page = opened()
    known = speed(page)
    choose(page, model="config")
    assert "Paste" in page.locator(".planner-error").inner_text()
    choose(page, config=json.dumps(LLAMA | {"my_head_count": 7}), weights="fp8")
    assert speed(page) == known
    notes = page.locator(".planner-notes").inner_text()
    assert "my_head_count = 7 is not understood" in notes
    assert f"{catalogue.model('llama-3.1-70b').n_total / 1e9:.1f} billion parameters in 80 layers" in notes
    query = page.evaluate(KEPT)
    assert speed(opened(query)) == known
    assert 'Model.from_config("config.json")' in page.locator(".planner-code pre").text_content()


SILLY = (
    *({"chips": each} for each in ("0", "-4", "", "2.5", "5000")),
    *({name: each} for name in ("prompt", "output", "load") for each in ("0", "-1", "")),
    *({"rent": "-1"}, {"by": "rate", "load": "1000000"}),
    *({"model": "config", "config": each} for each in ("", "{", "[]", '"x"', "{}", '{"num_hidden_layers": -1}')),
)


@pytest.mark.parametrize("values", SILLY, ids=str)
def test_what_makes_no_sense_is_answered_with_a_sentence(opened, values):
    page = opened()
    choose(page, **values)
    assert page.locator(".planner-refused").count() == 1
    assert re.fullmatch(r"[A-Za-z].{15,}", result(page), re.S)
    assert not re.search(r"NaN|undefined|Infinity|null", page.locator("#plan").inner_text())


def test_what_is_wrong_is_said_at_its_field_and_answered_with_no_number(opened):
    """What was drawn last stays below, dimmed."""
    page = opened()
    counted = page.locator(".planner-prediction").inner_text()
    choose(page, load="")
    assert page.locator(".planner-error").inner_text() == "Users at once: enter a number."
    assert page.locator("[name=load]").get_attribute("aria-describedby") == "planner-error"
    choose(page, chips=0)
    both = "Chips must be more than 0. Users at once: enter a number."
    assert page.locator(".planner-error").inner_text() == both
    choose(page, chips=4)
    assert page.locator(".planner-answer dt + dd").all_inner_texts() == ["–", "–", "–"]
    assert page.locator(".planner-prediction").inner_text() == counted
    assert page.locator(".planner-answer").evaluate("each => each.inert")
    choose(page, load=64)
    assert page.locator(".planner-error").count() == 0
    assert not page.locator(".planner-answer").evaluate("each => each.inert")


def test_what_is_loaded_is_said_where_the_fields_are(opened):
    page = opened()
    page.locator(".planner-points summary").click()
    page.locator(".planner-points button").last.click()
    assert result(page).startswith("Loaded: ")
    assert page.evaluate("document.activeElement.className") == "planner-result"
    page.wait_for_function("document.querySelector('#plan').getBoundingClientRect().top >= 0")


def test_the_caption_says_why_a_configuration_is_not_on_the_line(opened):
    caption = lambda query: opened(query).locator(".planner-chart figcaption").inner_text()
    assert "not on the line" not in caption("")
    assert "not on the line: its heads cannot be divided evenly" in caption("?plan=1&chips=3")
    assert "yours: some requests wait" in caption("?plan=1&load=5000")


def test_what_no_engine_runs_is_no_fit(opened):
    """The first tile says why, and the line below it what would run."""
    tile = lambda page: page.locator(".planner-answer > div").first
    plain, page = tile(opened("")).evaluate(SHADE), opened("?plan=1&chips=72")
    assert tile(page).inner_text().split("\n")[1:] == ["No", "64 heads cannot be divided over 72 chips"]
    assert tile(page).evaluate(SHADE) != plain
    assert "try tensor parallel 8." in result(page)
    runs = opened("?plan=1&chips=72&tensor=8")
    assert "Yes" in tile(runs).inner_text() and tile(runs).evaluate(SHADE) == plain


def test_paper_has_the_light_colors(opened):
    """However dark the screen is."""
    page = opened()
    shown = lambda: page.locator(".planner-front").evaluate("line => getComputedStyle(line).stroke")
    light = shown()
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    dark = shown()
    page.emulate_media(media="print")
    assert light == shown() != dark


def test_extremes_are_answered_with_numbers(opened):
    for query in (
        "&load=100000",
        "&prompt=1000000&output=100000",
        "&model=qwen3-0.6b&chips=64&tensor=64",
        "&chips=1&load=0.5",
    ):
        text = opened(f"?plan=1{query}").locator("#plan").inner_text()
        assert not re.search(r"NaN|undefined|Infinity|null", text), query


# Each field alone at each of its ends (a menu at each of its choices), and numbers together at either.
MOVED = (
    """(given) => {"""
    + WHOLE
    + r"""
  const BESIDE = ".planner-answer > div, .planner-numbers > *, figcaption";
  const form = document.querySelector("#plan"), svg = form.querySelector(".planner-chart svg"), found = [];
  const ENDS = { chips: [1, 1024], load: [0.5, 100000], prompt: [1, 1000000], output: [1, 100000], rent: [0.01, 1000] };
  const field = (name) => form.querySelector(`[name=${name}]`);
  const set = (values) => Object.entries(values).forEach(([name, value]) => {
    field(name).value = value;
    field(name).dispatchEvent(new Event("input", { bubbles: true }));
  });
  const reset = () => { form.querySelector(".planner-reset").click(); set(given); };
  reset();
  const menus = [...form.querySelectorAll(".planner-form select")].flatMap(({ name, options }) => [...options]
    .filter(({ value }) => value !== "config").map(({ value }) => ({ [name]: value, load: 2 })));
  const alone = Object.entries(ENDS).flatMap(([name, ends]) => ends.map((value) => ({ [name]: value })));
  const allAt = (end) => Object.fromEntries(Object.entries(ENDS).map(([name, ends]) => [name, ends[end]]));
  const states = [{}, ...menus, ...alone, allAt(0), allAt(1)];
  let drawn = 0;
  for (const state of states) {
    reset();
    set(state);
    const tell = (...what) => found.push([JSON.stringify(state), ...what]);
    if (form.classList.contains("planner-refused")) tell("is refused");
    drawn += svg.querySelectorAll("text").length > 5;
    lookAt(svg, tell);
    for (const part of form.querySelectorAll(BESIDE)) {
      if (part.scrollWidth > part.clientWidth + 1) tell("is cut off", part.textContent);
    }
    if (/NaN|undefined|Infinity/.test(form.innerText)) tell("is no number");
  }
  return { states: states.length, drawn, found };
}"""
)


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize(
    "given", [{"chips": 8}, {"model": "deepseek-v3", "chip": "h200", "chips": 16}], ids=["dense", "experts"]
)
def test_the_chart_is_whole_at_the_ends_of_every_field(opened, width, given):
    """No text of it lies on another or leaves it, and no number beside it is cut off."""
    page = opened()
    page.set_viewport_size({"width": width, "height": 900})
    told = page.evaluate(MOVED, given)
    assert told["states"] > 50 and told["drawn"] > 40
    assert told["found"] == []


def test_the_frontiers_table_is_made_only_where_it_is_seen(opened):
    """It takes as long as the chart, and a change of a field waits for both."""
    page = opened()
    rows, chosen = page.locator(".planner-points tbody tr"), page.locator(".planner-points tbody button").first
    choose(page, load=64)
    assert rows.count() == 0
    page.locator(".planner-points summary").click()
    rows.first.wait_for()
    page.locator(".planner-points summary").click()
    told = chosen.evaluate("button => (globalThis.seen = button).ariaLabel")
    choose(page, model="llama-3.1-8b", chips=1)
    assert chosen.evaluate("button => button === seen")
    page.locator(".planner-points summary").click()
    page.wait_for_function("!seen.isConnected")
    assert chosen.get_attribute("aria-label") != told


def test_an_unknown_address_is_the_start(opened):
    start = opened().locator("#plan").evaluate(FIELDS)
    for query in ("?plan=2&chips=8", "?plan=1&model=nobody&chip=none&engine=it", "?highlight=cost"):
        assert opened(query).locator("#plan").evaluate(FIELDS) == start


def test_what_does_not_fit_is_said(opened):
    page = opened("?plan=1&model=deepseek-v3&weights=&chips=2")
    assert "does not fit" in result(page)
    assert not page.locator(".planner-prediction").is_visible() and not page.locator(".planner-chart").is_visible()
    least = re.search(r"It takes (\d+)\s×", result(page))[1]
    assert "does not fit" not in result(opened(f"?plan=1&model=deepseek-v3&weights=&chips={least}"))
    half = int(least) // 2
    assert "does not fit" in result(opened(f"?plan=1&model=deepseek-v3&weights=&chips={half}"))
    page = opened("?plan=1&prompt=10000000")
    assert "the KV cache of one user" in result(page) and page.locator(".planner-answer dd").first.inner_text() == "No"
    assert "too much" in page.locator(".planner-memory").inner_text()
    assert "Another sharding" in result(opened(f"?plan=1&model=deepseek-v3&weights=&chips={least}&tensor=1"))


@pytest.mark.parametrize(
    "query",
    (
        "",
        "&by=rate&load=1.5",
        "&rent=1.25&tensor=2&kv=bf16&spread=1",
        "&model=gpt-oss-120b&weights=",
        "&chip=gb200-nvl72",
        "&rents=contract",
    ),
)
def test_the_copied_call_gives_the_same_numbers(opened, query):
    page, space = opened(f"?plan=1{query}"), {}
    code = page.locator(".planner-code pre").text_content()
    exec(code.replace("predict_serving(", "p = predict_serving(").replace("import p = ", "import "), space)
    assert speed(page) == pytest.approx(space["p"].tokens_per_s_per_user, rel=5e-3)
    price = float(re.search(r"\$([\d.]+)\s+per million", page.locator(".planner-answer").inner_text())[1])
    assert price == pytest.approx(space["p"].usd_per_mtok, rel=0.05)


def test_a_point_of_the_frontier_can_be_chosen(opened):
    page = opened()
    page.locator(".planner-dot").first.click(force=True)
    first = page.evaluate(KEPT)
    assert "load=" in first
    page.locator(".planner-points summary").click()
    page.locator(".planner-points button").last.click()
    assert page.evaluate(KEPT) != first


def test_one_user_is_no_users(opened):
    page = opened("?plan=1&load=1&prompt=1")
    told = page.locator(".planner-chart").inner_html() + page.locator(".planner-more summary").inner_text()
    assert "; 1 user, TP" in told and "prompts of 1 token, answers" in told and " 1 users" not in told


def test_published_runs_are_shown_where_there_are_any(opened):
    assert opened().locator(".planner-run").count() == 5
    assert opened("?plan=1&prompt=4096").locator(".planner-run").count() == 0


def test_every_field_has_a_name_and_the_answer_is_announced(opened):
    page = opened()
    unnamed = "all => all.filter(each => !each.labels.length).map(each => each.name)"
    assert page.locator("#plan :is(input, select, textarea)").evaluate_all(unnamed) == []
    assert page.locator(".planner-result").get_attribute("role") == "status"
    assert "tokens/s per user" in page.locator(".planner-chart svg").get_attribute("aria-label")


def test_without_scripts_the_page_says_what_it_lacks(browser, address):
    with open_page(browser, address, java_script_enabled=False) as seen:
        assert seen.page.locator(".planner-without").is_visible()
        assert not seen.page.locator("#plan").is_visible()


@pytest.mark.parametrize(("width", "most"), [(1366, 300), (390, 450)])
def test_the_answer_stands_close_below_few_fields(opened, width, most):
    """With the page's title above it, whether the model fits, its speed and its price are on the first screen."""
    page = opened()
    page.set_viewport_size({"width": width, "height": 768})
    box = lambda name: page.locator(name).bounding_box()
    top, bottom = box("#plan")["y"], box(".planner-answer")["y"] + box(".planner-answer")["height"]
    assert bottom - top <= most
    fits, speed_told, price = page.locator(".planner-answer > div").all_inner_texts()
    assert "Yes" in fits and "ms" in speed_told and "$" in price
