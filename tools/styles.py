"""What a page waits for before it shows is one request: the style sheets of all pages joined, without the themes' rules
for what no page has. Sphinx's options stand in the page itself.
"""

import hashlib
import re
from itertools import groupby

import tinycss2

LINK = re.compile(r'<link\b[^>]*href="(?P<up>[^"?]*)_static/(?P<name>(?!planner/)[^"?]+\.css)[^"]*"[^>]*>\s*')
IMPORT = re.compile(r'@import "\.\./([\w.-]+)";')
OPTIONS = re.compile(r'<script src="[^"?]*_static/documentation_options\.js[^"]*"></script>')
CHARSET = re.compile(r'@charset "[^"]*";')
LINE_END = re.compile(r"\s*\n\s*")
OWN = {"custom.css", "practice.css", "../vendor/labs/lab.css"}  # they have no rule too many
ELEMENT = re.compile(r"<([a-z][a-z0-9-]*)")
NAMED = re.compile(r'\b(?:class|id)="([^"]*)"')
ASKED = re.compile(r"var\(\s*(--[\w-]+)")
WORD = re.compile(r"[A-Za-z_][\w-]*")
# A property that others may ask for; values in quotes may hold the marks that end it.
PROPERTY = re.compile(r"(?<=[{;])(--[\w-]+):[^;{}\"']*(?:;|(?=\}))")
# Their words are thousands. Of what Bootstrap can make, the pages have tooltips, menus and folds.
SKIPPED = {"bootstrap.js", "pyodide.asm.js", "pyodide.js", "searchindex.js", "temml.js", "vega.js"}
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


def lighten_heads(site):
    """Join the sheets in every page of a site; what only one page loads stays alone."""
    pages = {path: path.read_text("utf8") for path in site.rglob("*.html") if "_static" not in path.parts}
    heads = {path: text.partition("</head>")[0] for path, text in pages.items()}
    names = list(dict.fromkeys(link["name"] for head in heads.values() for link in LINK.finditer(head)))
    sheet = write_joined(site / "_static", names, find_used(pages.values(), site))
    options = f"<script>{(site / '_static' / 'documentation_options.js').read_text('utf8')}</script>"
    for path, head in heads.items():
        if first := LINK.search(head):
            one = f'<link rel="stylesheet" href="{first["up"]}_static/{sheet}">\n'
            alone = head[: first.start()] + one + LINK.sub("", head[first.start() :])
            path.write_text(OPTIONS.sub(lambda _: options, alone) + pages[path][len(head) :], "utf8")


def find_used(pages, site):
    """Names of elements, classes, ids and properties in the pages, and all words of scripts, which may make such."""
    named = {names for text in pages for names in NAMED.findall(text)}
    found = {part for text in pages for pattern in (ELEMENT, ASKED) for part in pattern.findall(text)}
    scripts = [path.read_text("utf8") for path in site.rglob("*.js") if path.name not in SKIPPED]
    return MADE | found.union(*map(str.split, named), *map(WORD.findall, scripts))


def write_joined(static, names, used):
    """The name of one sheet with all these in it, which lies beside the fonts and pictures that they name."""
    texts = {name: (static / name).read_text("utf8") for name in names}
    whole = {
        name: IMPORT.sub(lambda found: (static / found[1]).read_text("utf8"), text) for name, text in texts.items()
    }
    kept = [CHARSET.sub("", text) if name in OWN else prune_sheet(text, used) for name, text in whole.items()]
    joined = '@charset "UTF-8";\n' + drop_properties("\n".join(kept), used)
    target = static / f"all-{hashlib.sha256(joined.encode()).hexdigest()[:10]}.css"
    target.write_text(joined, "utf8")
    return target.name


# --- What a sheet keeps ---------------------------------------------------------------------------------------------


def prune_sheet(text, used):
    """A sheet without the rules that match nothing; its comments and line ends go too."""
    return "".join(prune_rules(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True), used))


def prune_rules(rules, used):
    """The text of each rule that something may match."""
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [each for each in split_at(rule.prelude, ",") if is_needed(each, used)]
            if selectors:
                yield f"{','.join(map(write, selectors))}{{{';'.join(map(write, split_at(rule.content, ';')))}}}\n"
        elif rule.at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if kept := "".join(prune_rules(inner, used)):
                yield f"@{rule.at_keyword} {write(rule.prelude)}{{{kept}}}\n"
        elif rule.at_keyword != "charset":
            yield write([rule]) + "\n"


def split_at(tokens, mark):
    """The parts of a list of tokens between commas or semicolons, of which none is empty."""
    parts = [list(group) for is_mark, group in groupby(tokens, lambda token: token == mark) if not is_mark]
    return [part for part in parts if write(part)]


def write(tokens):
    """Tokens as text, on one line."""
    return LINE_END.sub(" ", tinycss2.serialize(tokens)).strip()


def is_needed(selector, used):
    """Whether all elements, classes and ids that a selector names are used; those in brackets are not asked."""
    before, named = "", set()
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            named.add(token.value)
        before = token.value if token.type == "literal" else ""
    return named <= used


def drop_properties(text, used):
    """Leave out the properties that nothing asks for."""
    known = used | {*ASKED.findall(text)}
    return PROPERTY.sub(lambda found: found[0] if known & {found[1], found[1][2:]} else "", text)
