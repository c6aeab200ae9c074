"""The grammar of the interactive charts, Vega-Lite's own, as Altair carries it."""

import functools

import altair
from jsonschema import Draft7Validator


@functools.cache
def grammar():
    """What judges a chart, made once for all tests of a process."""
    return Draft7Validator(altair.load_schema(), format_checker=Draft7Validator.FORMAT_CHECKER)


def breaches(spec):
    """Where a chart breaks the grammar, and how."""
    return [(error.json_path, error.message) for error in grammar().iter_errors(spec)]
