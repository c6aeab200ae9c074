"""Reading what a reader typed: numbers with units, letters, formulas, functions. Nothing here evaluates text as code.

Every reader returns plain Python values or raises `Unreadable` with the kind of feedback and a message. Only known
types are touched: an unknown object's own methods (`__eq__`, `__float__`, `__repr__`) are never called.
"""

from __future__ import annotations

import decimal
import dis
import fractions
import io
import math
import operator
import re
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from typing import Any

from blackboard import notation, units
from blackboard.limits import Endless, Limit, TooSlow, run_apart

LONGEST = 300  # characters of an answer
TOO_LONG = "The function did not come back: it took too long."
_NUMBER = re.compile(
    r"\s*(?:(?:≈|~|about )\s*)?(?:\$\s*)?"  # a sign between any two runs of blanks: there is one way to share them
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:\s*(?:e|[x×·*]\s?10\^|\*10\*\*)\s*([+-]?[0-9]{1,4}))?)"
    r"(?:\s*/\s*([0-9]+(?:\.[0-9]*)?)(?![0-9.]))?\s*(.*?)\s*",
    re.I | re.S,
)
_GROUPS = re.compile(  # separators between groups of three digits, of which a lone zero is none
    r"(?<=[0-9])(?<!(?<![0-9])0)[,_'’\u00a0\u202f ](?=[0-9]{3}(?![0-9]))"
)
_DECIMAL_COMMA = re.compile(r"[0-9],[0-9](?![0-9]{2}(?![0-9]))|(?<![0-9])0,[0-9]")


_RAISED = re.compile("10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")  # 10²⁴
_POWERS = {ord(raised): f"^{n}" for n, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}  # u² in a formula
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


class Unreadable(Exception):
    """An answer that cannot be judged; `kind` is "type" or "unit"."""

    def __init__(self, message: str, kind: str = "type"):
        super().__init__(message)
        self.kind = kind


def is_blank(given: Any) -> bool:
    """None, an ellipsis, an empty text and a function without a body mean "not attempted"."""
    if type(given) is types.FunctionType:
        return _does_nothing(given)
    return given is None or given is Ellipsis or (type(given) is str and len(given) <= LONGEST and not given.strip())


def _does_nothing(given: types.FunctionType) -> bool:
    """True of `def f(x): ...`, with or without a docstring: it only returns None."""
    steps = lambda made: [(each.opname, each.argval) for each in dis.get_instructions(made) if each.opname != "NOP"]
    return steps(given) == steps(lambda: None)


# --- units as one types them ----------------------------------------------------------------------------------------

_ALIASES = {
    "s": ("s", "sec", "second", "seconds"),
    "byte": ("B", "byte", "bytes"),
    "FLOP": ("FLOP", "FLOPs", "flop", "flops"),
    "token": ("token", "tokens", "tok", "toks"),
    "sequence": ("sequence", "sequences", "seq", "seqs", "user", "users", "request", "requests"),
    "parameter": ("parameter", "parameters", "param", "params"),
    "chip": ("chip", "chips", "GPU", "GPUs"),
    "USD": ("USD", "$", "dollar", "dollars"),
    "W": ("W", "watt", "watts"),
}
_THINGS = (
    "token",
    "bit",
    "round",
    "layer",
    "use",
    "chip",
    "GPU",
    "expert",
    "stage",
    "device",
    "model",
    "block",
    "FLOP",
    "step",
)  # counted, and no unit
_PREFIXED = {
    "s": "n u µ μ m",
    "W": "k M",
    "byte": "k K M G T P Ki Mi Gi Ti",
    "FLOP": "k M G T P E",
    "token": "k M G T",
    "USD": "k M",
    "parameter": "k M G T",
}
_SCALE = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "μ": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}
_LONE = {
    "s": {
        "min": 60.0,
        "minute": 60.0,
        "minutes": 60.0,
        "h": 3600.0,
        "hour": 3600.0,
        "hours": 3600.0,
        "hr": 3600.0,
        "hrs": 3600.0,
        "d": 86400.0,
        "day": 86400.0,
        "days": 86400.0,
        "milliseconds": 1e-3,
        "microseconds": 1e-6,
    },
    "byte": {"bit": 0.125, "bits": 0.125, "b": 0.125, "Gb": 1.25e8, "Mb": 1.25e5, "kb": 125.0},
    "FLOP": {"mac": 2.0, "macs": 2.0},
    "token": {"k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12},
    "sequence": {"k": 1e3},
    "parameter": {"M": 1e6, "B": 1e9, "T": 1e12},
    "USD": {
        **dict.fromkeys(("cent", "cents", "¢"), 0.01),
        "milliondollars": 1e6,
        "billiondollars": 1e9,
        "M": 1e6,
        "B": 1e9,
    },
    "1": {
        "": 1.0,
        "k": 1e3,
        "thousand": 1e3,
        "x": 1.0,
        "times": 1.0,
        "timesasmany": 1.0,
        "timesasmuch": 1.0,
        "guess": 1.0,
        "guesses": 1.0,
        **{name + s: 1.0 for name in _THINGS for s in ("", "s")},
        "%": 0.01,
        "percent": 0.01,
        "×": 1.0,
    },
}
_WORDS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def _atom(unit: str) -> dict[str, float]:
    """Spellings of one unit, with prefixes, and their size in it."""
    out = dict.fromkeys(_ALIASES.get(unit, (unit,)), 1.0)
    out |= {p + name: _SCALE[p] for p in _PREFIXED.get(unit, "").split() for name in list(out) if (p + name) != "min"}
    counted = (
        {word + name: size for word, size in _WORDS.items() for name in (unit, unit + "s", "")}
        if unit in ("token", "parameter", "USD")
        else {}
    )
    return out | counted | _LONE.get(unit, {})


@cache
def spellings(unit: str) -> dict[str, float]:
    """Every spelling of a unit that an answer may use, and its size in coherent units: "GB/s" -> 1e9."""
    head, *tail = (unit or "1").split("/")
    out = _atom(head)
    for below in tail:
        out = {f"{a}/{b}": x / y for a, x in out.items() for b, y in _atom(below).items()}
    if unit == "sequence":  # a step makes one token per sequence: both names are right
        out |= _atom("token")
    if unit == "token/sequence":  # a context is said in tokens, and so is what a round of speculation yields
        out |= spellings("token") | {
            f"{name}/{below}": size for name, size in _atom("token").items() for below in ("round", "pass")
        }
    return out


COUNTED = ("token", "megatoken", "Mtok", "sequence", "parameter", "chip")


def readings(unit: str, label: str, scale: float) -> dict[str, float]:
    """All spellings of a unit, and those of what is asked for each counted thing: "2 kB" answers "how many bytes per
    token".
    """
    head, _, below = label.partition("/")
    atom = next((_atom(base) for base in _ALIASES if head in _atom(base)), {}) if below in COUNTED else {}
    return {name: size / atom[head] * scale for name, size in atom.items()} | spellings(unit)


def canonical(text: str) -> str:
    """A unit's spelling without blanks: "tokens per s" is "tokens/s", and no unit or 1 is ""."""
    if text == "1":
        return ""
    return re.sub(r"\s*(?:\bper\b|/)\s*", "/", text.strip().strip(".")).replace(" ", "")


def quantity(given: Any, unit: str, label: str, scale: float) -> float:
    """A number in coherent units from a number (in units of size `scale`), a text with or without unit, or a
    quantity.
    """
    if issubclass(type(given), units.pint.Quantity):
        try:
            return _finite(float(units.magnitude(given, unit or "1")))
        except units.UnitError:
            raise Unreadable(
                f"That is in {given.units:P}; the answer {'is in ' + label if label else 'has no unit'}.", "unit"
            ) from None
    if type(given) is str:
        return _typed(given, unit, label, scale)
    return _finite(_number(given)) * scale


def _typed(given: str, unit: str, label: str, scale: float) -> float:
    plain = _RAISED.sub(lambda m: "10^" + m[1].translate(_LOWERED), given) if len(given) <= LONGEST else ""
    found = _NUMBER.fullmatch(_GROUPS.sub("", plain))
    if not found or re.match(r"[0-9.,:^'*(-]|/\s*[0-9]", found[4]) or (found[3] and not float(found[3])):
        if _DECIMAL_COMMA.search(plain):
            raise Unreadable("Use a point for the decimals, as in 0.067.")
        raise Unreadable(
            f"Write one number, such as 0.067 or 6.7e-2{', and a unit if you like: ' + label if label else ''}."
        )
    number = float(re.sub(r"\s*(e|[x×·*]\s?10\^|\*10\*\*)\s*", "e", found[1], flags=re.I))
    spelt, known = canonical(found[4]), readings(unit, label, scale)
    number = _finite(number / float(found[3])) if found[3] else number  # 4/3
    if "$" in given and spelt and not spelt.startswith(("$", "USD")) and spelt not in known:
        spelt = f"$/{spelt.lstrip('/')}"
    if "$" in given and not spelt and scale > 1e3 and number >= scale / 1e3:
        spelt = "$"  # $168,000,000 where millions are asked for
    if spelt and spelt not in known:
        raise Unreadable(
            f"The answer is in {label}; I cannot read it in that unit." if label else "The answer has no unit.", "unit"
        )
    return _finite(number) * (known[spelt] if spelt else scale)


def _number(given: Any) -> float:
    """A float from an exact or NumPy scalar; other objects are not touched."""
    kind = type(given)
    if kind in (int, float, fractions.Fraction, decimal.Decimal):
        return float(given) if kind is not int or given.bit_length() < 1024 else math.inf
    bases = {f"{base.__module__}.{base.__name__}" for base in kind.__mro__}
    if bases & {"numpy.integer", "numpy.floating"}:
        return float(given)
    if str(kind.__module__).startswith("sympy.core.numbers"):
        return float(given)
    raise Unreadable("Give one number, or a text such as '12 ms'.")


def _finite(number: float) -> float:
    if math.isnan(number):
        raise Unreadable("That is not a number (nan).")
    if math.isinf(number):
        raise Unreadable("That is infinite; give a finite number.")
    return number


# --- letters --------------------------------------------------------------------------------------------------------


def option(given: Any, options: Mapping[str, str]) -> str:
    """The key of a choice, from the key or from words that only one option has."""
    key = given.strip().strip("()., ").lower() if type(given) is str and len(given) <= LONGEST else ""
    said = [k for k, text in options.items() if key and len(key) > 3 and key in text.lower()]
    key = said[0] if len(said) == 1 else key
    if key not in options:
        raise Unreadable(f"Answer with one of {', '.join(options)}.")
    return key


def order(given: Any, items: str) -> str:
    """An order of keys as one string: from "b a c", "b, a, c", "b > a > c", "bac" or a list of keys."""
    if type(given) in (list, tuple) and len(given) <= 20 and all(type(x) is str and len(x) < 9 for x in given):
        given = " ".join(given)
    keys = re.sub(r"[\s,;<>()-]+", "", given.lower()) if type(given) is str and len(given) <= LONGEST else ""
    if sorted(keys) != sorted(items):
        raise Unreadable(f"Use each of {', '.join(items)} once.")
    return keys


# --- formulas: a small grammar, parsed, never evaluated as code -------------------------------------------------------

_TOKEN = re.compile(
    r"\s*(?:([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+)|([A-Za-zαβγεκημπστχω_][A-Za-z_0-9]*)|(\*\*|[-+*/^(),·×]))"
)
Computed = Callable[[Mapping[str, float]], float]  # a function of a point
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
    "log": math.log,
    "ln": math.log,
    "exp": math.exp,
}


def _tokens(text: str) -> list[str]:
    out, at = [], 0
    text = text.rstrip().translate(_POWERS)
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise Unreadable(f"I cannot read a formula from character {at + 1} on: use + - * / ^ and ( ).")
        out.append(found[0].strip().replace("**", "^").replace("·", "*").replace("×", "*"))
        at = found.end()
    return out + [""]


class _Parser:
    """Recursive descent over + - * / ^, calls and brackets; yields a function of a point."""

    def __init__(self, text: str, spellings: Mapping[str, Sequence[str]]):
        self.tokens, self.at, self.depth = _tokens(text), 0, 0
        self.names = {spelt: name for name, several in spellings.items() for spelt in several}
        self.letters = [several[0] for several in spellings.values()]

    def take(self, *wanted: str) -> str:
        token = self.tokens[self.at]
        if token and token in wanted:
            self.at += 1
            return token
        return ""

    def deeper(self, what: str, parse: Callable[[], Computed]) -> Computed:
        self.depth += 1
        if self.depth > 40:
            raise Unreadable(f"Too many {what}.")
        out = parse()
        self.depth -= 1
        return out

    def whole(self) -> Computed:
        out = self.sum()
        if self.tokens[self.at]:
            raise Unreadable(f"I did not expect {self.tokens[self.at]!r} there; write products with *.")
        return out

    def sum(self) -> Computed:
        return self.deeper("brackets", lambda: self.chain(self.product, {"+": operator.add, "-": operator.sub}))

    def product(self) -> Computed:
        return self.chain(self.power, {"*": operator.mul, "/": operator.truediv})

    def chain(self, part: Callable[[], Computed], signs: Mapping[str, Callable[..., float]]) -> Computed:
        out = part()
        while sign := self.take(*signs):
            out = _apply(signs[sign], out, part())
        return out

    def power(self) -> Computed:
        if self.take("-"):
            return _apply(operator.neg, self.deeper("signs", self.power))
        base = self.value()
        return _apply(math.pow, base, self.deeper("powers", self.power)) if self.take("^") else base

    def value(self) -> Computed:
        token = self.tokens[self.at]
        self.at += 1
        if token == "(":
            return self.closed(self.sum())
        if token.lower() in _FUNCTIONS and self.take("("):
            return self.call(token.lower())
        if token in self.names:
            return operator.itemgetter(self.names[token])
        if token and (token[0].isdigit() or token[0] == "."):
            return lambda point: float(token)
        what = f"I do not know {token!r}" if token else "The formula breaks off"
        raise Unreadable(f"{what}; the symbols are {', '.join(self.letters)}.")

    def call(self, name: str) -> Computed:
        args = [self.sum()]
        while self.take(","):
            args.append(self.sum())
        if (len(args) > 1) != (name in ("max", "min")):
            raise Unreadable(f"{name} takes {'two or more values' if name in ('max', 'min') else 'one value'}.")
        return self.closed(_apply(_FUNCTIONS[name], *args))

    def closed(self, inner: Computed) -> Computed:
        if not self.take(")"):
            raise Unreadable("A bracket is not closed.")
        return inner


def _apply(function: Callable[..., float], *args: Computed) -> Computed:
    return lambda point: function(*(arg(point) for arg in args))


def expression(given: Any, names: Mapping[str, Sequence[str]]) -> Computed:
    """A function of a point from a typed formula, or from a SymPy expression; `names` gives each symbol's spellings."""
    if type(given) is not str:
        if not str(type(given).__module__).startswith("sympy.") or not _is_short(given):
            raise Unreadable("Write the formula as text, such as 'a * b / c', or give a short SymPy expression.")
        given = str(given).replace("Max(", "max(").replace("Min(", "min(")
    if len(given) > LONGEST:
        raise Unreadable(f"That formula is longer than {LONGEST} characters.")
    compute = _Parser(given.split("=")[-1] if given.count("=") == 1 else given, names).whole()
    return lambda point: _total(compute, point)


def _is_short(given: Any) -> bool:
    """Whether a SymPy expression may be printed: one with more parts, or such digits, is longer than an answer may be.

    It looks at no more parts than that, however often a part occurs in the whole.
    """
    import sympy

    for parts, part in enumerate(sympy.preorder_traversal(given), 1):
        if parts > 2 * LONGEST or isinstance(part, sympy.Float) and part._prec > 10 * LONGEST:
            return False
    return True


def _total(compute: Computed, point: Mapping[str, float]) -> float:
    """The value, with division by zero and overflow as infinity, and a root of a negative number as nan."""
    try:
        return compute(point)
    except (ZeroDivisionError, OverflowError):
        return math.inf
    except ValueError:
        return math.nan


_GREEK = {
    "alpha": "α",
    "beta": "β",
    "chi": "χ",
    "gamma": "γ",
    "epsilon": "ε",
    "eta": "η",
    "kappa": "κ",
    "mu": "μ",
    "omega": "ω",
    "pi": "π",
    "sigma": "σ",
    "tau": "τ",
}


def letters(name: str) -> list[str]:
    """How a symbol may be typed: as on the board (N_act) first, then without its underscore, in Greek, by its name."""
    letter = notation.letter(name)
    head, below, index = letter.partition("_")
    several = [
        letter,
        letter.replace("_", ""),
        *([_GREEK[head] + below + index, _GREEK[head] + index] if head in _GREEK else []),
        name,
    ]
    return list(dict.fromkeys(several))


def alphabet(names: Sequence[str]) -> dict[str, list[str]]:
    """How each symbol of a problem may be typed; a bare alpha or α too, where only one of them begins with it and none
    is it.
    """
    known, heads = {name: letters(name) for name in names}, [notation.letter(name).partition("_")[0] for name in names]
    for name, head in zip(names, heads):
        if head in _GREEK and heads.count(head) == 1:
            known[name] = list(dict.fromkeys([*known[name], head, _GREEK[head]]))
    return known


def same(got: Sequence[float], wanted: Sequence[float]) -> bool:
    """Equal to six digits at every point."""
    return all(math.isfinite(g) and math.isclose(g, w, rel_tol=1e-6) for g, w in zip(got, wanted))


def is_thousands(ratio: float) -> bool:
    """Whether a ratio is a power of a thousand, other than one."""
    power = math.log10(ratio) / 3 if ratio > 0 else math.nan
    return bool(power) and abs(power) <= 5 and abs(power - round(power)) < 1e-6 and round(power) != 0


def rescaling(names: Sequence[str]) -> dict[str, float]:
    """By how much each symbol's number grows when seconds, bytes, tokens … are replaced by other units of the kind.

    A formula whose units come out right scales as its result does. One token per sequence and one multiply-add per
    parameter and token are constants of the law, so sequences scale as tokens and FLOPs as parameters times tokens.
    """
    kinds = ("time", "information", "token", "parameter", "chip", "currency", "length", "mass")
    size = dict(zip(kinds, (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)))  # primes: no two products coincide
    size |= {"sequence": size["token"], "compute": size["parameter"] * size["token"]}
    return {
        n: math.prod(size[d] ** float(p) for d, p in units.dimension(notation.lookup(n).unit).items()) for n in names
    }


# --- functions that the reader wrote ---------------------------------------------------------------------------------


def calls(given: Any, points: Sequence[Mapping[str, float]], seconds: float = 3.0) -> list[float]:
    """The function's values at the points, if they come within a time limit; what it prints is not shown."""
    if type(given) not in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        from blackboard.formula import BoundFormula, Formula

        if type(given) not in (Formula, BoundFormula):
            raise Unreadable("Give a function itself, such as check(step_time), not the value it returned.")
    try:
        found = run_apart(lambda: _call(given, points, seconds), seconds + 1)
    except Endless:
        raise Unreadable(TOO_LONG) from None
    if isinstance(found, str):
        raise Unreadable(found)
    return found


def _call(given: Any, points: Sequence[Mapping[str, float]], seconds: float) -> list[float] | str:
    """The function's values, or what kept it from having any."""
    files = {given.__code__.co_filename} if type(given) is types.FunctionType else set()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), Limit(files, seconds):
            return [_returned(given(**point)) for point in points]
    except KeyboardInterrupt:
        raise
    except Unreadable as error:
        return str(error)
    except TooSlow:
        return TOO_LONG
    except TypeError as error:
        return f"Calling it by name failed: {str(error)[:200]}. The arguments are {', '.join(points[0])}."
    except BaseException as error:  # sys.exit too: a reader's function must not end the kernel
        return f"The function raised {type(error).__name__}."


def _returned(value: Any) -> float:
    """What a function returned, as a number."""
    if value is None:
        raise Unreadable("The function returns nothing. Is there a `return`?")
    try:
        return _number(value)
    except Unreadable:
        raise Unreadable(f"The function must return one number; it returned a {type(value).__name__}.") from None
