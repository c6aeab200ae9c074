"""What a page waits for before it shows stands in it: the styles that it needs, without the rules for what it has not,
Sphinx's options, and whether it is light or dark.
"""

import re
from itertools import groupby
from typing import NamedTuple

import tinycss2

LINK = re.compile(r'<link\b[^>]*href="(?P<up>[^"?]*)_static/(?P<name>[^"?]+\.css)[^"]*"[^>]*>\s*')
IMPORT = re.compile(r'@import "\.\./([\w.-]+)";')
OPTIONS = re.compile(r'<script src="[^"?]*_static/documentation_options\.js[^"]*"></script>')
THEME = 'localStorage.getItem("theme") || "auto"'  # with which a first visitor's page would show before it has colors
OURS = 'localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
# The letters of the text come while its page is read, or lines would break anew when they have come. A file from a disk
# may not ask for them in this way.
LETTERS = """<script>if (location.protocol !== "file:") for (const name of ["regular", "bold"])
  document.head.append(Object.assign(document.createElement("link"), {{ rel: "preload", as: "font", type: "font/woff2",
    crossOrigin: "", href: `{up}_static/text-${{name}}.woff2` }}));</script>
"""
ADDRESS = re.compile(r"""url\(["']?(?!["']?(?:data:|#))([^"')]+)["']?\)""")
LINE_END = re.compile(r"\s*\n\s*")
ELEMENT = re.compile(r"<([a-z][a-z0-9-]*)")
NAMED = re.compile(r'\b(?:class|id)="([^"]*)"')
ASKED = re.compile(r"var\(\s*(--[\w-]+)")
WORD = re.compile(r"[A-Za-z_][\w-]*")
# A property that others may ask for; values in quotes may hold the marks that end it.
PROPERTY = re.compile(r"(?<=[{;])(--[\w-]+):[^;{}\"']*(?:;|(?=\}))")
# Their words are thousands. Of what Bootstrap can make, the pages have tooltips, menus and folds.
SKIPPED = {"bootstrap.js", "pyodide.asm.js", "pyodide.js", "searchindex.js", "temml.js", "vega.js", "vega-lite.js"}
TIPS = {f"bs-tooltip-{side}" for side in ("auto", "bottom", "end", "start", "top")}
MADE = {
    "active",
    "collapse",
    "collapsing",
    "fade",
    "show",
    "showing",
    "tooltip",
    "tooltip-arrow",
    "tooltip-inner",
} | TIPS


class Rule(NamedTuple):
    """A rule: its selectors, each with the names of elements, classes and ids that it asks for, and what they get."""

    selectors: list[tuple[str, frozenset[str]]]
    body: str


class Group(NamedTuple):
    """Rules that hold on some media only."""

    head: str
    rules: list


def lighten_heads(site):
    """Write into every page of a site the sheets that it links to."""
    words, sheets = {boxed: script_words(site, boxed) for boxed in (True, False)}, {}
    options = f"<script>{(site / '_static' / 'documentation_options.js').read_text('utf8')}</script>"
    for path in site.rglob("*.html"):
        head, end, rest = path.read_text("utf8").partition("</head>")
        links = list(LINK.finditer(head))
        if links and "_static" not in path.parts:
            for name in {link["name"] for link in links} - sheets.keys():
                sheets[name] = read_sheet(site / "_static", name)
            used = words["<practice-box" in rest] | names_in(head + rest)
            style = join_sheets([sheets[link["name"]] for link in links], used)
            up = links[0]["up"]
            style = ADDRESS.sub(lambda found: f"url({up}_static/{found[1]})", style)
            begun = f"{head[: links[0].start()]}{LETTERS.format(up=up)}<style>{style}</style>\n"
            head = begun + LINK.sub("", head[links[0].start() :])
            path.write_text(OPTIONS.sub(lambda _: options, head.replace(THEME, OURS)) + end + rest, "utf8")


def names_in(text):
    """Names of elements, classes, ids and properties in a page."""
    found = {part for pattern in (ELEMENT, ASKED) for part in pattern.findall(text)}
    return found.union(*map(str.split, NAMED.findall(text)))


def script_words(site, boxed):
    """All words of scripts, which may make elements and set classes of such names; where a page has no answer box,
    without those of the boxes and their problems.
    """
    asleep = lambda path: not boxed and (path.name == "practice.js" or path.parent.name == "problems")
    idle = lambda path: path.name in SKIPPED or asleep(path)
    scripts = [path.read_text("utf8") for path in site.rglob("*.js") if not idle(path)]
    return MADE.union(*map(WORD.findall, scripts))


# --- What a sheet keeps ---------------------------------------------------------------------------------------------


def read_sheet(static, name):
    """The rules of a sheet, without comments."""
    text = (static / name).read_text("utf8")
    return list(read_rules(parse(IMPORT.sub(lambda found: (static / found[1]).read_text("utf8"), text))))


def parse(text):
    return tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)


def read_rules(rules):
    """Rules, groups of them, and what is neither as text."""
    for rule in rules:
        if rule.type == "qualified-rule":
            written = [(write(each), names_of(each)) for each in split_at(rule.prelude, ",")]
            selectors = [each for each in written if ":has(" not in each[0]]  # tried anew at each change
            yield Rule(selectors, ";".join(map(write, split_at(rule.content, ";"))))
        elif rule.at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            yield Group(f"@{rule.at_keyword} {write(rule.prelude)}", list(read_rules(inner)))
        elif rule.at_keyword != "charset":
            yield write([rule]) + "\n"


def names_of(selector):
    """The elements, classes and ids that a selector names; those in brackets are not asked."""
    before, named = "", set()
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            named.add(token.value)
        before = token.value if token.type == "literal" else ""
    return frozenset(named)


def join_sheets(sheets, used):
    """Sheets as one text, without the rules that match nothing and the properties that nothing asks for."""
    text = "\n".join("".join(keep_rules(sheet, used)) for sheet in sheets)
    known = used | {*ASKED.findall(text)}
    return PROPERTY.sub(lambda found: found[0] if known & {found[1], found[1][2:]} else "", text)


def keep_rules(rules, used):
    """The text of each rule that something may match."""
    for rule in rules:
        if isinstance(rule, str):
            yield rule
        elif isinstance(rule, Group):
            if kept := "".join(keep_rules(rule.rules, used)):
                yield f"{rule.head}{{{kept}}}\n"
        elif selectors := [text for text, named in rule.selectors if named <= used]:
            yield f"{','.join(selectors)}{{{rule.body}}}\n"


def split_at(tokens, mark):
    """The parts of a list of tokens between commas or semicolons, of which none is empty."""
    parts = [list(group) for is_mark, group in groupby(tokens, lambda token: token == mark) if not is_mark]
    return [part for part in parts if write(part)]


def write(tokens):
    """Tokens as text, on one line."""
    return LINE_END.sub(" ", tinycss2.serialize(tokens)).strip()
