"""A Sphinx extension: where a page first uses a term of the glossary, it leads to the term's entry.

Nothing is marked in the pages. What counts as a use stands in the glossary, as comments in an entry:

    % also: batches, batch size      phrases beside the term itself; its plural in -s counts anyway
    % only: decode step              these phrases instead of the term, where the word has everyday meanings; or none
    % not: batch interface           phrases in which it means something else
    % on pricing: hit                phrases that mean it on this page, whatever they mean on others

A phrase with a capital letter is looked for as it stands, any other also at the start of a sentence. The longest phrase
wins: "critical batch" is no use of "batch". A list of objectives has no links, and a sentence that explains a term in
bold none to it: the next use has it. Entries have two roles of their own: {symbol}`batch` is a letter and its unit from
the notation, {lesson}`racks#a-layer-of-experts` a link to a section. A lesson that is not in the book yet is only
named.
"""

import bisect
import hashlib
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.util.nodes import make_refnode

# Where no reader expects a link. Headings, captions and blocks of code are no paragraphs, so that they are left alone
# anyway.
SILENT = (
    nodes.reference,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.table,
    nodes.legend,
    nodes.citation,
    nodes.footnote,
    addnodes.pending_xref,
)
COMPUTED = {"pasted-text", "cell"}  # classes of what a cell made: glued values and outputs
OBJECTIVES = "What you will be able to do"
RULE = re.compile(r"(also|only|not|on [\w-]+):(.*)")


# --- The glossary: what it says, and in which phrases ------------------------------------------------------


def rules(comments):
    """The comments of an entry: {"also": [phrases], "on pricing": [phrases], …}."""
    out = {}
    for line in filter(None, map(str.strip, "\n".join(comments).splitlines())):
        found = RULE.fullmatch(line)
        if not found:
            raise ValueError(line)
        out.setdefault(found[1], []).extend(filter(None, map(str.strip, found[2].split(","))))
    return out


def first_sentence(text):
    """Up to the first full stop."""
    return re.match(r".*?(\.(?=\s|$)|$)", " ".join(text.split()))[0]


def read_entry(item):
    """One entry as plain data; its comments are taken out of the page."""
    term, definition = item[0], item[-1]
    comments = list(definition.findall(nodes.comment))
    entry = {"name": term.astext(), "id": term["ids"][0], "rules": rules(each.astext() for each in comments)}
    for each in comments:
        each.parent.remove(each)
    description = next(iter(definition.findall(nodes.paragraph)), nodes.paragraph())
    lessons = [each["reftarget"] for each in definition.findall(addnodes.pending_xref) if each["reftype"] == "lesson"]
    return entry | {"description": first_sentence(description.astext()), "lessons": lessons}


def read_glossary(app, doctree):
    """Note the entries of a page that has a glossary."""
    found = []
    for item in [
        item for glossary in doctree.findall(addnodes.glossary) for item in glossary.findall(nodes.definition_list_item)
    ]:
        try:
            found.append(read_entry(item))
        except ValueError as error:
            logging.getLogger(__name__).warning("not a rule of an entry: %s", error, location=item[0])
    if found:
        noted(app.env)[app.env.docname] = found


def noted(env):
    """{page: its entries}."""
    if not hasattr(env, "glossed"):
        env.glossed, env.glossed_last = {}, {}
    return env.glossed


def forget(_app, env, page):
    """A page is read anew or gone."""
    noted(env).pop(page, None)


def merge(_app, env, pages, other):
    """What another process has read."""
    noted(env).update((page, found) for page, found in noted(other).items() if page in pages)


def renew(_app, env):
    """If an entry has changed, every page is written again."""
    now = noted(env)
    if now != env.glossed_last:
        env.glossed_last = dict(now)
        return sorted(env.found_docs)
    return []


# --- The pages: first uses ---------------------------------------------------------------------------------


def general(entry):
    """Phrases that mean an entry on any page."""
    has = entry["rules"]
    return [*has.get("only", [entry["name"], entry["name"] + "s"]), *has.get("also", [])]


def meanings(entries, lesson):
    """{phrase: entry, or None where it means none}; what holds on this lesson's page alone goes before what holds on
    any.
    """
    return claims(entries, lambda e: [(general(e), e), (e["rules"].get("not", []), None)]) | claims(
        entries, lambda e: [(e["rules"].get(f"on {lesson}", []), e)]
    )


def claims(entries, listed):
    """{phrase: entry or None}; a phrase of two entries is refused."""
    out = {}
    for phrases, means in (pair for entry in entries for pair in listed(entry)):
        for phrase in phrases:
            if out.setdefault(phrase, means) is not means:
                raise ExtensionError(f"two entries of the glossary claim the phrase {phrase!r}")
    return out


def expression(phrase):
    """A phrase as a pattern; one without capitals may also begin a sentence."""
    words = r"\s+".join(map(re.escape, phrase.split())).replace("'", "['’]")
    return (
        words if phrase != phrase.lower() or not phrase[0].isalpha() else f"[{phrase[0]}{phrase[0].upper()}]{words[1:]}"
    )


def pattern(found):
    """Any of the phrases as whole words, the longest first."""
    longest = sorted(found, key=len, reverse=True)
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(map(expression, longest))})(?![\w/-])")


def plain(match):
    """A match as the phrase it may be, small at the start and not."""
    text = " ".join(match.replace("’", "'").split())
    return text, text[:1].lower() + text[1:]


def join_texts(element):
    """Texts that follow each other become one: a line break in the source parts them, and a phrase may go over it."""
    out = []
    for child in element.children:
        if out and isinstance(child, nodes.Text) and isinstance(out[-1], nodes.Text):
            out[-1] = nodes.Text(out[-1] + child)
        else:
            out.append(child)
    element[:] = out


def is_prose(text):
    """Whether a text stands in a paragraph and in nothing silent or computed."""
    prose = False
    while (text := text.parent) is not None:
        if isinstance(text, SILENT) or COMPUTED & set(text.get("classes", ())):
            return False
        if isinstance(text, nodes.bullet_list) and is_objectives(text.parent):
            return False
        prose = prose or isinstance(text, nodes.paragraph)
    return prose


def is_objectives(section):
    """Whether a section says what a reader will be able to do."""
    return isinstance(section, nodes.section) and section[0].astext() == OBJECTIVES


class Sentences:
    """The sentences of a paragraph, and which entries each of them explains: those whose phrase it has in bold."""

    def __init__(self, paragraph, means):
        """Numbers by text, and sets of ids by number."""
        self.ends = [found.end() for found in re.finditer(r"[.?!](?=\s|$)", paragraph.astext())]
        self.starts, self.explained, place = {}, {}, 0
        for text in paragraph.findall(nodes.Text):
            self.starts[id(text)] = place
            place += len(text.astext())
        for bold in paragraph.findall(nodes.strong):
            found = [means[words] for words in plain(bold.astext()) if means.get(words)]
            first = next(bold.findall(nodes.Text), None)
            if found and first is not None:
                self.explained.setdefault(self.number(first, 0), set()).add(found[0]["id"])

    def number(self, text, place):
        """The number of the sentence that a place in a text stands in."""
        return bisect.bisect_right(self.ends, self.starts[id(text)] + place)

    def explains(self, text, place):
        """The ids of the entries that the sentence at a place explains."""
        return self.explained.get(self.number(text, place), ())


def paragraph_of(text):
    """The innermost paragraph that a text stands in."""
    while not isinstance(text, nodes.paragraph):
        text = text.parent
    return text


class FirstUses(SphinxPostTransform):
    """Link the first use of every term; after references, citations and glued values have been put in."""

    default_priority = 800
    formats = ("html",)

    def run(self, **_):
        """All prose of a page, in order."""
        page = self.env.docname
        homes = {home: entries for home, entries in noted(self.env).items() if entries}
        if not homes or page in homes:
            return
        self.home = {entry["id"]: home for home, entries in homes.items() for entry in entries}
        self.means = meanings([entry for entries in homes.values() for entry in entries], page.rpartition("/")[2])
        self.seen, looks = set(), pattern(self.means)
        for element in self.document.findall(lambda node: isinstance(node, (nodes.paragraph, nodes.Inline))):
            join_texts(element)
        paragraphs = {}
        for text in filter(is_prose, list(self.document.findall(nodes.Text))):
            within = paragraph_of(text)
            if within not in paragraphs:
                paragraphs[within] = Sentences(within, self.means)
            pieces = list(self.pieces(text, looks, paragraphs[within]))
            if len(pieces) > 1 or not isinstance(pieces[0], nodes.Text):
                text.parent.replace(text, pieces)

    def pieces(self, node, looks, sentences):
        """The text, with links where it uses a term for the first time."""
        text, end = str(node), 0
        for match in looks.finditer(text):
            as_is, small = plain(match[0])
            entry = self.means[as_is if as_is in self.means else small]
            if entry is None or entry["id"] in self.seen or entry["id"] in sentences.explains(node, match.start()):
                continue
            self.seen.add(entry["id"])
            if text[end : match.start()]:
                yield nodes.Text(text[end : match.start()])
            yield self.link(match[0], entry)
            end = match.end()
        if text[end:] or end == 0:
            yield nodes.Text(text[end:])

    def link(self, words, entry):
        """A quiet link to an entry, which says the first sentence of it."""
        home, id = self.home[entry["id"]], entry["id"]
        link = make_refnode(self.app.builder, self.env.docname, home, id, nodes.Text(words), entry["description"])
        link["classes"].append("glossed")
        return link


# --- The entries: letters and lessons ----------------------------------------------------------------------


class SymbolRole(SphinxRole):
    """{symbol}`batch`: the letter of the notation, with its unit in brackets; a pure number has none."""

    def run(self):
        """A formula and a text, or a complaint."""
        from blackboard import notation

        try:
            for declaring in Path(notation.__file__).parent.rglob("equations.py"):
                self.env.note_dependency(str(declaring))
            row = notation.lookup(self.text)
        except notation.UndeclaredSymbol as error:
            return [], [self.inliner.reporter.warning(str(error), line=self.lineno)]
        unit = [] if row.unit == "1" else [nodes.Text(f" ({row.unit})")]
        return [nodes.math("", row.latex), *unit], []


class LessonRole(SphinxRole):
    """{lesson}`racks#a-layer-of-experts`: filled in once all pages are read."""

    def run(self):
        """A reference that `find_lesson` resolves."""
        name = self.text.partition("#")[0]
        reference = addnodes.pending_xref(
            "",
            nodes.inline("", name.capitalize()),
            refdoc=self.env.docname,
            reftype="lesson",
            reftarget=self.text,
            refwarn=True,
        )
        self.set_source_info(reference)
        return [reference], []


def sections(env, page):
    """{anchor: heading} of a page."""
    links = env.tocs[page].findall(nodes.reference)
    return {link["anchorname"].lstrip("#"): link.astext() for link in links if link["refuri"] == page}


def find_lesson(app, env, reference, name):
    """The link of a {lesson}; its bare name while the book does not have it; None, and so a warning, if the section is
    not there.
    """
    if reference["reftype"] != "lesson":
        return None
    lesson, _, anchor = reference["reftarget"].partition("#")
    page = f"{reference['refdoc'].rpartition('/')[0]}/{lesson}".lstrip("/")
    if page not in env.found_docs:
        return name
    if anchor and anchor not in sections(env, page):
        return None
    title = env.titles[page].astext().partition(":")[0]
    text = f"{title}, “{sections(env, page)[anchor]}”" if anchor else title
    return make_refnode(app.builder, reference["refdoc"], page, anchor, nodes.inline("", text))


def setup(app):
    """Called by Sphinx; a change of this file is a change of every page."""
    app.add_role("symbol", SymbolRole())
    app.add_role("lesson", LessonRole())
    app.add_post_transform(FirstUses)
    app.connect("doctree-read", read_glossary)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", renew)
    app.connect("missing-reference", find_lesson)
    version = int(hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12], 16)
    return {"env_version": version, "parallel_read_safe": True, "parallel_write_safe": True}
