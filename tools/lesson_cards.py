"""A Sphinx extension: the directive `lesson-cards` of the front page. A line of it is `name: question`; a card adds the
lesson's number, title, reading time and problems, all taken from the lesson as it was read, and a picture.
"""

import re
from html import escape
from math import ceil
from pathlib import PurePosixPath

from docutils import nodes
from lesson_icons import icon
from sphinx.util.docutils import SphinxDirective

WORDS_PER_MINUTE = 180  # slower than a novel: many a sentence has a formula or a number
PROBLEM = re.compile(
    r'<practice-box [^>]*data-lesson="([^"]+)" data-problem="([^"]+)"[^>]*>'
    r'<p class="practice-head"><strong>(.*?)</strong>'
)
STEP = re.compile(r'<section class="lab-step" [^>]*data-step="([^"]+)"><h3>\d+\. (.*?)</h3>')
UNREAD = (nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


class lesson_cards(nodes.General, nodes.Element):
    """Stands for the cards until all pages have been read."""


class LessonCards(SphinxDirective):
    """The lessons, in order, each with its question."""

    has_content = True

    def run(self):
        """Keep the lines."""
        lines = [line.partition(": ") for line in self.content if line.strip()]
        return [lesson_cards("", lessons=[(name, question) for name, _, question in lines])]


# --- What is noted of each page ------------------------------------------------------------------------------------


def facts(env):
    """{page: its first picture, how many words it has to read, its problems and steps of a lab by name}."""
    if not hasattr(env, "page_facts"):
        env.page_facts = {}
    return env.page_facts


def count_words(node):
    """Words to read: no code, no formulas, nothing that a cell printed."""
    if isinstance(node, UNREAD):
        return 0
    if isinstance(node, nodes.Text):
        return len(node.split())
    return sum(map(count_words, node.children))


def note_facts(app, doctree):
    """Note the facts of a page."""
    pictures = [node["uri"] for node in doctree.findall(nodes.image)]
    raw = "".join(node.astext() for node in doctree.findall(nodes.raw))
    problems = PROBLEM.findall(raw)
    facts(app.env)[app.env.docname] = {
        "picture": pictures[:1],
        "words": count_words(doctree),
        "lesson": problems[0][0] if problems else "",
        "problems": {name: title for _, name, title in problems},
        "steps": dict(STEP.findall(raw)),
    }


def forget_facts(_app, env, page):
    """A page is read anew or gone."""
    facts(env).pop(page, None)


def merge_facts(_app, env, pages, other):
    """What another process has read."""
    facts(env).update((page, found) for page, found in facts(other).items() if page in pages)


# --- The cards -----------------------------------------------------------------------------------------------------


def beside(root, lesson):
    """The page of a lesson, which is beside the front page."""
    return str(PurePosixPath(root).parent / lesson)


def picture_of(env, page):
    """The file of a page's first picture, in _images; nothing where it has none."""
    return next((env.images[uri][1] for uri in facts(env)[page]["picture"] if uri in env.images), "")


def count_minutes(found):
    """Minutes to read a page."""
    return ceil(found["words"] / WORDS_PER_MINUTE)


def head_lesson(app, page, _template, context, _doctree):
    """Below its title a lesson says which it is and how long it takes."""
    if page in app.env.lessons:
        found, (number,) = facts(app.env)[page], app.env.lessons[page]
        said = f"Lesson {number} · {count_minutes(found)} min read · {len(found['problems'])} problems"
        context["body"] = context["body"].replace("</h1>", f'</h1>\n<p class="lesson-facts">{said}</p>', 1)


def card(app, number, root, lesson, question):
    """A lesson's card."""
    env, page = app.env, beside(root, lesson)
    found, title = facts(env)[page], env.titles[page].astext()
    head, _, rest = title.partition(": ")
    picture = picture_of(env, page)
    figure = (
        f'<img src="../_images/{picture}" alt="The first figure of {escape(head)}" loading="lazy">' if picture else ""
    )
    minutes, problems = count_minutes(found), found["problems"]
    names = f'data-problems="{" ".join(problems)}" data-steps="{" ".join(found["steps"])}"'
    progress = f'<span class="lesson-progress" data-lesson="{lesson}" {names}>'
    return (
        f'<li class="lesson-card"><a href="{lesson}.html" title="{escape(rest)}"><span class="lesson-picture">'
        f"{icon(lesson) or figure}"
        f'</span><span class="lesson-title">{number}. {escape(head)}</span></a><p>{escape(question)}</p>'
        f'<p class="lesson-facts">{minutes} min read · {progress}{len(problems)} problems</span></p></li>'
    )


def draw_cards(app, doctree, page):
    """Put the cards in their place; a lesson that is not built, as in a site of one lesson, has none."""
    for node in list(doctree.findall(lesson_cards)):
        built = [(n, *row) for n, row in enumerate(node["lessons"], 1) if beside(page, row[0]) in facts(app.env)]
        cards = "".join(card(app, n, page, lesson, question) for n, lesson, question in built)
        node.replace_self(nodes.raw("", f'<ol class="lesson-cards">{cards}</ol>', format="html"))


def renew_cards(app, env):
    """The front page, and that of the progress, are written anew when what they show has changed."""
    root, stamp = app.config.root_doc, app.doctreedir / "cards"
    now = repr(
        [(page, env.titles[page].astext(), found, picture_of(env, page)) for page, found in sorted(facts(env).items())]
    )
    if stamp.exists() and stamp.read_text("utf8") == now:
        return []
    stamp.write_text(now, "utf8")
    return [page for page in (root, beside(root, "progress")) if page in env.found_docs]


def setup(app):
    """After Sphinx's own collectors, which know where pictures go."""
    app.add_node(lesson_cards)
    app.add_directive("lesson-cards", LessonCards)
    app.connect("doctree-read", note_facts, priority=900)
    app.connect("env-purge-doc", forget_facts)
    app.connect("env-merge-info", merge_facts)
    app.connect("env-updated", renew_cards)
    app.connect("doctree-resolved", draw_cards)
    app.connect("html-page-context", head_lesson)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 2}
