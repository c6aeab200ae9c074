"""The command: python -m blackboard.reality validate | predict MODEL --chip CHIP …"""

from __future__ import annotations

import argparse
import sys

from blackboard.datafile import UnknownId
from blackboard.reality import predict, validate
from blackboard.reality.calibration import ids
from blackboard.reality.checks import KINDS

WHOLE = {"chips": "of all stages", "expert": "chips that the routed experts are dealt out over", "pipeline": "stages of layers"}


def parser() -> argparse.ArgumentParser:
    """What the command understands; the options of predict are those of the function."""
    top = argparse.ArgumentParser(prog="python -m blackboard.reality", description="Predict serving from first principles, and hold predictions against published measurements.")
    which = top.add_subparsers(dest="command", required=True)
    checks = which.add_parser("validate", help="run every check against published numbers; exit status 1 if one fails")
    checks.add_argument("--kind", choices=KINDS)
    checks.add_argument("--data", help="id of one data set")
    lines = argparse.RawDescriptionHelpFormatter  # ids are not broken at their hyphens
    one = which.add_parser("predict", help="predict a step of one configuration", epilog="calibrations:\n  " + "\n  ".join(ids()), formatter_class=lines)
    one.add_argument("model", help="catalogue id, such as llama-3.1-70b")
    one.add_argument("--chip", required=True, help="catalogue id, such as h100-sxm")
    one.add_argument("--phase", choices=("decode", "prefill"), default="decode")
    one.add_argument("--batch", type=float, default=1, help="sequences")
    one.add_argument("--context", type=float, default=1024, help="tokens of each sequence")
    for name in ("weights", "kv", "compute"):
        one.add_argument(f"--{name}", help="number format, such as fp8")
    for name, says in WHOLE.items():
        one.add_argument(f"--{name}", type=int, default=1, help=says)
    one.add_argument("--tensor", type=int, help="chips that share every matrix; by default all that are left")
    one.add_argument("--cache", choices=("heads", "tokens"), default="heads", help="what the cache is dealt out by")
    one.add_argument("--calibration", help='"auto" or an id from below; without it the ideal, a floor on time')
    one.add_argument("--rent", default="", help="terms of a confirmed rent, such as community; without it the newest")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run the command; errors of the caller are told in a line."""
    options = vars(parser().parse_args(arguments))
    command = options.pop("command")
    try:
        if command == "predict":
            print(predict(options.pop("model"), **options))
            return 0
        report = validate(**options, progress=lambda says: print(f"… {says}", file=sys.stderr))
    except (UnknownId, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report)
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
