"""The command: blackboard predict MODEL --chip CHIP … | serve-plan … | validate | list; also as python -m blackboard"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from blackboard import catalogue
from blackboard.catalogue import Model
from blackboard.catalogue.datafile import UnknownId
from blackboard.prediction import predict, predict_serving
from blackboard.prediction.calibration import listed
from blackboard.prediction.rows import KINDS
from blackboard.prediction.serving_steps import ENGINES
from blackboard.validation import validate

COMMAND = "blackboard" if Path(sys.argv[0]).stem == "blackboard" else "python -m blackboard"
LIST = f"{COMMAND} list"
WHOLE = {
    "chips": "of all stages",
    "expert": "chips that the routed experts are dealt out over",
    "pipeline": "stages of layers",
}


def parser() -> argparse.ArgumentParser:
    """What the command understands; the options of predict are those of the function."""
    top = argparse.ArgumentParser(
        prog=COMMAND,
        description="Predict serving from first principles, and hold predictions against published measurements.",
    )
    which = top.add_subparsers(dest="command", required=True)
    checks = which.add_parser("validate", help="run every check against published numbers; exit status 1 if one fails")
    checks.add_argument("--kind", choices=KINDS)
    checks.add_argument("--data", help="id of one data set")
    which.add_parser("list", help="print the ids of models, chips and calibrations")
    lines = argparse.RawDescriptionHelpFormatter  # ids are not broken at their hyphens
    one = which.add_parser(
        "predict",
        help="predict a step of one configuration",
        epilog=f"calibrations, and what auto takes them for (elsewhere it falls back on serve-plan's):\n{listed()}",
        formatter_class=lines,
    )
    _add_model(one)
    one.add_argument("--chip", required=True, help="catalogue id, such as h100-sxm")
    one.add_argument("--phase", choices=("decode", "prefill"), default="decode")
    one.add_argument("--batch", type=float, default=1, help="sequences, on all chips together")
    one.add_argument("--context", type=float, default=1024, help="tokens of each sequence")
    for name in ("weights", "kv", "compute"):
        one.add_argument(f"--{name}", help="number format, such as fp8")
    for name, description in WHOLE.items():
        one.add_argument(f"--{name}", type=int, default=1, help=description)
    one.add_argument("--tensor", type=int, help="chips that share every matrix; by default all that are left")
    one.add_argument("--cache", choices=("heads", "tokens"), default="heads", help="what the cache is dealt out by")
    one.add_argument("--calibration", help='"auto" or an id from below; without it the ideal, a bound on time')
    one.add_argument(
        "--rent",
        default="",
        help="terms of a confirmed rent, such as community; without it the newest; none leaves prices out",
    )
    _add_serve_plan(which)
    return top


def _add_model(command: argparse.ArgumentParser) -> None:
    """The model: of the catalogue, or of a file."""
    command.add_argument("model", nargs="?", help=f"catalogue id, such as llama-3.1-70b; {LIST} shows all")
    command.add_argument("--config", metavar="FILE", help="a model's config.json, in place of an id")
    command.add_argument("--json", action="store_true", help="print the numbers as JSON, in base units")


def _add_serve_plan(which: argparse._SubParsersAction) -> None:
    """The options of predict_serving."""
    plan = which.add_parser("serve-plan", help="predict an engine that serves a model under load")
    _add_model(plan)
    plan.add_argument("--chip", required=True, help="catalogue id, such as h200")
    plan.add_argument("--chips", type=int, default=1, help="of the replica")
    plan.add_argument("--prompt", type=float, default=1024, help="longest tokens of a prompt")
    plan.add_argument("--output", type=float, default=1024, help="longest tokens of an answer")
    load = plan.add_mutually_exclusive_group()
    load.add_argument("--concurrency", type=float, help="users, each with one request in flight")
    load.add_argument("--rate", type=float, help="requests a second")
    plan.add_argument("--engine", choices=tuple(ENGINES), default="vllm")
    for name in ("weights", "kv"):
        plan.add_argument(f"--{name}", help="number format, such as fp8")
    plan.add_argument("--tensor", type=int, help="chips that share every matrix; by default all")
    plan.add_argument("--expert", type=int, default=1, help=WHOLE["expert"])
    plan.add_argument("--spread", type=float, default=0.8, help="shortest length drawn, as a share of the longest")
    plan.add_argument("--rent", default="", help="terms of a confirmed rent; none leaves prices out")


def ids() -> str:
    """All ids that predict takes, in short columns."""
    models, chips = (
        [model.id for model in catalogue.models() if not model.given],
        [chip.id for chip in catalogue.chips()],
    )
    return (
        f"models\n{_columns(models)}\n\nchips\n{_columns(chips)}\n\ncalibrations: chips that auto takes them for,"
        f" number formats, kind of model\n{listed()}"
    )


def _columns(names: list[str], count: int = 4) -> str:
    """Names in so many columns, read downwards."""
    rows, width = -(-len(names) // count), max(map(len, names)) + 2
    return "\n".join("  " + "".join(f"{name:<{width}}" for name in names[row::rows]).rstrip() for row in range(rows))


def format_error(error: Exception) -> str:
    """The message of an error, in the words of the command."""
    return re.sub(r"\w+\(\) lists all \d+", f"{LIST} shows all", str(error))


def main(arguments: list[str] | None = None) -> int:
    """Run the command; errors of the caller are told in a line, or in a few where they list what there is."""
    options = vars(parser().parse_args(arguments))
    command = options.pop("command")
    try:
        if command == "validate":
            report = validate(**options, progress=lambda description: print(f"… {description}", file=sys.stderr))
            print(report)
            return int(bool(report.failures))
        if command == "serve-plan":
            print(_planned(**options))
        else:
            print(ids() if command == "list" else _predicted(**options))
    except (UnknownId, ValueError, OSError) as error:
        print(f"error: {format_error(error)}", file=sys.stderr)
        return 2
    return 0


def _predicted(model: str | None, config: str | None, rent: str, json: bool, **options) -> str:
    found = predict(_model(model, config), **options, rent=None if rent == "none" else rent)
    return _json(found.numbers()) if json else str(found)


def _planned(model: str | None, config: str | None, rent: str, json: bool, **options) -> str:
    found = predict_serving(_model(model, config), **options, rent=None if rent == "none" else rent)
    return _json(found.numbers()) if json else str(found)


def _model(id: str | None, config: str | None) -> str | Model:
    """The id, or what the file holds. ValueError unless just one is given."""
    if (id is None) == (config is None):
        raise ValueError("give the id of a model, or --config with a file")
    return Model.from_config(Path(config)) if config else str(id)


def _json(values: dict) -> str:
    return json.dumps(values, indent=2)


if __name__ == "__main__":
    sys.exit(main())
