"""What the warm process imports and reads, once, before the kernels of the notebooks are forked from it."""

import contextlib
import importlib
import os
import sys

from kernels import LIBRARY, TOOLS, WARM, note_opened

os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].removeprefix(f"{TOOLS}{os.pathsep}")  # what a notebook starts

note_opened()
sys.modules["rfc3987_syntax"] = None  # over a second of grammars, by which jsonschema would check addresses
for name in [*WARM, *(f"blackboard.{name}" for name in LIBRARY)]:
    with contextlib.suppress(ImportError):  # a kernel that needs it says so
        importlib.import_module(name)

with contextlib.suppress(ImportError):
    from blackboard import catalogue

    for read in (catalogue.systems, catalogue.models, catalogue.prices, catalogue.tiers, catalogue.measurements):
        read()  # every notebook counts as a reader of what is read here
