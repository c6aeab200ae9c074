"""The planner's script against predict_serving: the same formulas, so every number must be the same."""

import json
import math
import random
import re
from pathlib import Path

import msgspec
import pytest
from conftest import ROOT

from blackboard import catalogue
from blackboard.catalogue import Model
from blackboard.planner import examples, frontier
from blackboard.planner.page import address
from blackboard.planner.script import script
from blackboard.prediction import predict_serving

CONFIGS = json.loads((Path(__file__).parent / "model_configs.json").read_text(encoding="utf-8"))
PORTED = ROOT / "lib" / "blackboard" / "planner"
RATES = (
    "requests_per_s most_rate tokens_per_s_per_user tokens_per_s_per_chip usd_per_mtok usd_per_mtok_in usd_per_mtok_out"
)
TIMES = "first_token output_token response"
COUNTS = "fits queued users"
EVERY = 400  # configurations

PREDICT = """asked => {
  const models = new Map(planner.data.models.map(each => [each.id, planner.completeModel(each)]));
  const chips = new Map(planner.data.chips.map(each => [each.id, each]));
  return asked.map(each => {
    const chip = chips.get(each.chip), rent = chip.rents.newest?.usd ?? null;
    try {
      const model = models.get(each.model);
      const { server, constants, ...found } = planner.predictServing({ ...each, model, chip, rent });
      return { ...found, errors: constants.errors };
    } catch (error) {
      return { refused: error.message };
    }
  });
}"""
READ = """configs => configs.map(config => {
  try {
    return planner.readConfig(config);
  } catch (error) {
    return { refused: error.message };
  }
})"""


@pytest.fixture(scope="module")
def scripted(browser):
    """An empty page that has run the script."""
    page = browser.new_page()
    page.add_script_tag(content=script())
    yield page
    page.close()


def divisor(draw, number):
    return draw.choice([each for each in (1, 2, 4, 8, 16, 72) if number % each == 0])


def configuration(draw):
    """Any model on any chips under any load, as predict_serving takes it."""
    model = draw.choice([each for each in catalogue.models() if not each.given])
    chips = draw.choice((1, 2, 4, 8, 8, 16, 72))
    asked = {"model": model.id, "chip": draw.choice(catalogue.chips()).id, "chips": chips}
    asked |= {"tensor": divisor(draw, chips), "expert": divisor(draw, chips) if model.moe else 1}
    asked |= {"prompt": round(2 ** draw.uniform(4, 16)), "output": round(2 ** draw.uniform(4, 13))}
    asked |= {"engine": draw.choice(("vllm", "trtllm", "sglang")), "spread": draw.choice((0.8, 1, 0.3))}
    asked |= draw.choice(({}, {"weights": draw.choice(("bf16", "fp8", "fp4", "int8", "mxfp4", "nvfp4"))}))
    asked |= draw.choice(({}, {"kv": draw.choice(("bf16", "fp8"))}))
    if draw.random() < 0.2:
        return asked | {"rate": 2 ** draw.uniform(-8, 3)}
    return asked | {"concurrency": round(2 ** draw.uniform(0, 13)), "requests": draw.choice((None, 3, 10))}


def predicted(asked):
    """The prediction of Python; None where it refuses."""
    try:
        return predict_serving(**asked)
    except ValueError:
        return None


def near(value):
    """Equal to a billionth; parts that are differences of long times to as much of those."""
    return pytest.approx(value, rel=1e-9)


def test_every_number_of_the_page_is_that_of_python(scripted):
    draw = random.Random(20261122)
    asked = [configuration(draw) for _ in range(EVERY)]
    compared = 0
    for each, found in zip(asked, scripted.evaluate(PREDICT, asked), strict=True):
        p = predicted(each)
        assert (p is None) == ("refused" in found), (each, found)
        if p is not None:
            assert_same(p, found, each)
            compared += 1
    assert compared >= 300


def assert_same(p, found, asked):
    """All numbers, the parts of a token and of the memory, and what binds."""
    for name in (RATES + " " + TIMES).split():
        ours = getattr(p, name)
        assert found[name] == (None if ours is None else near(ours)), (name, asked)
    assert [found[name] for name in COUNTS.split()] == near([p.fits, p.queued, p.server.users]), asked
    assert found["memory_per_chip"] == near(p.memory_per_chip), asked
    tiny = 1e-9 * p.output_token
    for name in p.parts.keys() | found["parts"].keys():
        assert found["parts"].get(name, 0) == pytest.approx(p.parts.get(name, 0), rel=1e-9, abs=tiny), (name, asked)
    assert found["binds"] == p.binds and found["errors"] == p.expected_error, asked


def test_a_pasted_config_is_read_as_python_reads_it(scripted):
    configs = [row["config"] for row in CONFIGS] + [changed for row in CONFIGS for changed in mutilated(row["config"])]
    for config, found in zip(configs, scripted.evaluate(READ, configs), strict=True):
        try:
            model = Model.from_config(config)
        except ValueError as error:
            assert plain(found.get("refused", "")) == plain(str(error)), config
            continue
        assert "refused" not in found, (found, config)
        for name in ("name", "layers", "d_model", "vocab", "tied_embeddings", "weights", "context_tokens"):
            assert found[name] == getattr(model, name)
        for name in ("attention", "ffn"):
            assert found[name] == list(msgspec.to_builtins(getattr(model, name)))
        assert list(map(plain, found["not_understood"])) == list(map(plain, model.not_understood))


def mutilated(config):
    """The same file without a field, with an unknown one, and with one that is no number."""
    draw = random.Random(json.dumps(config))
    inner = config.get("text_config", config)
    for name in draw.sample(sorted(inner), 6):
        yield (
            config | {"text_config": {k: v for k, v in inner.items() if k != name}}
            if inner is not config
            else {k: v for k, v in config.items() if k != name}
        )
    yield config | {"my_head_count": 7, "hidden_size": 4096}
    yield config | {"num_hidden_layers": "many"}


def plain(said):
    """A note without what JSON and Python write differently."""
    return re.sub(r"[\s'\"]", "", said).lower()


def test_the_best_sharding_is_the_one_that_python_finds(scripted):
    best = """([model, chip, promise]) => {
      const row = planner.data.models.find(each => each.id === model), made = planner.completeModel(row);
      const on = planner.data.chips.find(each => each.id === chip);
      const asked = { model: made, chip: on, engine: "vllm", weights: "fp8", kv: null,
        prompt: 1024, output: 1024, spread: 0.8, requests: 10 };
      return planner.bestShardings(asked, [1, 2, 4, 8], promise);
    }"""
    for model, chip in (("llama-3.1-70b", "h200"), ("deepseek-v3", "b200"), ("gpt-oss-120b", "h100-sxm")):
        promise = frontier.Promise(user=40, first=2)
        found = scripted.evaluate(best, [model, chip, promise._asdict()])
        ours = [frontier.best_sharding(promise, model=model, chip=chip, chips=n, weights="fp8") for n in (1, 2, 4, 8)]
        ours = [each for each in ours if each]
        assert [(each["chips"], each["tensor"], each["expert"], each["users"]) for each in found] == [
            (p.server.layout.chips, p.server.layout.tensor, p.server.layout.expert, p.server.users) for p in ours
        ]
        assert [each["chip"] for each in found] == near([p.tokens_per_s_per_chip for p in ours])


def test_the_fewest_chips_are_those_that_python_finds(scripted):
    """Of users at once and of requests per second; three and six are tried as well."""
    fewest = """([given, promise]) => {
      const model = planner.completeModel(planner.data.models.find(each => each.id === given.model));
      const chip = planner.data.chips.find(each => each.id === given.chip);
      const asked = { engine: "vllm", kv: null, spread: 0.8, ...given, model, chip };
      asked.requests = given.rate ? planner.data.steady : 10;
      const search = planner.findFewest(asked, promise);
      for (let step; ; ) if ((step = search.next()).done) return step.value;
    }"""
    llama = {"model": "llama-3.1-70b", "weights": "fp8", "prompt": 3500, "output": 1000}
    deepseek = {"model": "deepseek-v3", "chip": "h200", "prompt": 1024, "output": 1024}
    counts = [n for n in range(1, 33) if n in (1, 2, 4, 8, 16, 32, 3, 6, 12, 24)]
    promise, found = frontier.Promise(user=25, first=2), []
    for given in (
        *(llama | {"chip": chip, "concurrency": 200} for chip in ("b200", "h200", "h100-sxm", "mi355x")),
        llama | {"chip": "h200", "rate": 3},
        deepseek | {"concurrency": 300},
    ):
        ours = frontier.fewest_chips(promise, counts, **given)
        on_page = scripted.evaluate(fewest, [given, promise._asdict()])
        layout = ours.server.layout
        assert [on_page[name] for name in ("chips", "tensor", "expert")] == [layout.chips, layout.tensor, layout.expert]
        assert on_page["user"] == pytest.approx(ours.tokens_per_s_per_user, rel=1e-6)
        found.append(layout.chips)
    assert found[:2] == [3, 6]


def test_a_promised_first_token_costs_users():
    asked = dict(model="llama-3.1-70b", chip="h200", chips=4, weights="fp8", tensor=4, expert=1)
    late = frontier.most_promised(frontier.Promise(user=20, first=1e9), **asked)
    soon = frontier.most_promised(frontier.Promise(user=20, first=late.first_token / 2), **asked)
    assert soon.first_token <= late.first_token / 2 and soon.server.users < late.server.users


def test_no_formula_is_written_by_hand():
    """The glue calls formulas: it has no square root, logarithm or exponential of its own but for axes and steps."""
    glue = (PORTED / "serving.js").read_text("utf8")
    assert re.findall(r"Math\.(?!min|max|ceil|floor)\w+", glue) == ["Math.sqrt"]  # the middle of a bisection


def test_the_script_asks_no_other_host():
    assert re.findall(r"https?://[^\"'`\s]+", script()) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|sendBeacon|import)\s*\(", script())


def test_examples_are_addressed_by_fields_of_the_form():
    names = set(re.findall(r'name="?(\w+)', (PORTED / "form.html").read_text("utf8")))
    for name in examples.NAMES:
        assert set(examples.fields(name)) <= names
        assert address(name).startswith("?plan=1&")


def test_numbers_of_the_page_are_finite():
    assert all(value and "nan" not in value and "inf" not in value for value in examples.numbers().values())
    assert math.isfinite(examples.chosen_chips()[0].usd_per_mtok)
