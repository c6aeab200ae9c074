"""A Sphinx extension: what other sites and search engines are told of a page (a description, a card to share with a
picture, its address where _config.yml names one), a page for addresses that are not there, and a map of the site.
"""

import json
import re
from html import escape
from pathlib import Path
from textwrap import wrap

from docutils import nodes
from lesson_cards import facts, picture_of

LONGEST = 200  # characters of a description
CARD = (1200, 630)  # pixels, as networks show it
NOT_FOUND = """<h1>There is no such page</h1>
<p>It may have been renamed. Start at <a href="{root}.html">the first page</a>, or <a href="search.html">search</a>.
</p>"""
# Such a page is sent for an address at any depth: what it links to is found from the site's root.
BASE = '<script>if (location.protocol !== "file:") document.write(\'<base href="{path}">\')</script>'


# --- The description -------------------------------------------------------------------------------------------------


def describe(doctree):
    """A page's first sentences, as many as fit; its first paragraph cut short where even one is too long."""
    paragraphs = [node for node in doctree.findall(nodes.paragraph) if isinstance(node.parent, nodes.section)]
    text = " ".join(paragraphs[0].astext().split()) if paragraphs else ""
    kept = ""
    for sentence in re.split(r"(?<=[.?!]) ", text):
        if len(kept) + 1 + len(sentence) > LONGEST:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or next(iter(wrap(text, LONGEST - 2)), "") + (" …" if text else "")


# --- The card --------------------------------------------------------------------------------------------------------


def card_of(env, page):
    """The page whose first figure a page is shared with: its own, or that of the lesson that it belongs to."""
    lesson = f"book/{page.rpartition('/')[2]}"
    found = (each for each in (page, lesson) if each in facts(env) and picture_of(env, each).endswith(".svg"))
    return next(found, "")


def social_card(figure, title):
    """A picture to share: the title above a figure, from SVG."""
    import vl_convert

    width, height = CARD
    inner = re.sub(r"(?s)^.*?<svg ", "<svg ", figure)
    size = re.search(r'viewBox="([^"]+)"', inner)[0]
    inner = re.sub(
        r"<svg [^>]*>",
        f'<svg x="60" y="150" width="{width - 120}" height="{height - 180}" {size}'
        ' xmlns:xlink="http://www.w3.org/1999/xlink">',
        inner,
        count=1,
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><rect width="100%" height="100%"'
        f' fill="white"/><text x="60" y="95" font-family="sans-serif" font-size="44" font-weight="bold"'
        f' fill="#222832">{escape(title)}</text>{inner}</svg>'
    )
    return vl_convert.svg_to_png(svg)


def book_card(title):
    """A picture for pages that have no figure of their own: the book's title."""
    import vl_convert

    width, height = CARD
    lines = "".join(
        f'<text x="100" y="{250 + 90 * row}" font-size="68">{escape(line)}</text>'
        for row, line in enumerate(wrap(title, 30))
    )
    return vl_convert.svg_to_png(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><rect width="100%" height="100%"'
        f' fill="white"/><rect x="60" y="185" width="10" height="{90 * len(wrap(title, 30))}" fill="#0072b2"/>'
        f'<g font-family="sans-serif" font-weight="bold" fill="#222832">{lines}</g></svg>'
    )


def card_file(page):
    """The card of a page's figure, or of the book where there is no page, below the site's root."""
    return f"_static/cards/{page.rpartition('/')[2] or 'the-book'}.png"


def write_cards(app, env):
    """Draw the cards whose figure or title has changed, before any page is written."""
    target = app.outdir / card_file("")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(book_card(app.config.html_title))
    stamp = app.doctreedir / "social.json"
    known = json.loads(stamp.read_text("utf8")) if stamp.exists() else {}
    for page in filter(lambda page: picture_of(env, page).endswith(".svg"), facts(env)):
        title, file = env.titles[page].astext().partition(":")[0], app.outdir / card_file(page)
        if known.get(page) == [picture_of(env, page), title] and file.exists():
            continue
        file.write_bytes(social_card((app.srcdir / facts(env)[page]["picture"][0]).read_text("utf8"), title))
        known[page] = [picture_of(env, page), title]
    stamp.write_text(json.dumps(known), "utf8")


# --- What a page says in its head ------------------------------------------------------------------------------------


def tag(name, key, content):
    """A meta element."""
    return f'<meta {name}="{key}" content="{escape(content)}">' if content else ""


def count_problems(env):
    """Each lesson with the number of problems on its page: by them the sidebar ticks lessons that are finished."""
    lessons = {
        each["lesson"]: len(each["problems"]) for page, each in facts(env).items() if page.endswith(each["lesson"])
    }
    return " ".join(f"{lesson}:{count}" for lesson, count in sorted(lessons.items()) if lesson)


def add_metadata(app, page, _template, context, doctree):
    """Describe a page in its head; an address only where _config.yml names the site's."""
    if doctree is None:
        return
    address, up = app.config.html_baseurl, "../" * page.count("/")
    source = card_of(app.env, page)
    image, shown = card_file(source), f"A figure of {app.env.titles[source].astext()}" if source else "The book’s title"
    said, title = describe(doctree), app.env.titles[page].astext()
    context["metatags"] = context.get("metatags", "") + "\n".join(
        [
            tag("name", "description", said),
            tag("name", "problems", count_problems(app.env)),
            tag("property", "og:type", "website" if page == app.config.root_doc else "article"),
            tag("property", "og:site_name", app.config.html_title or app.config.project),
            tag("property", "og:title", title),
            tag("property", "og:description", said),
            tag("property", "og:image", (address or up) + image),
            tag("property", "og:image:alt", shown),
            tag("property", "og:url", address and f"{address}{page}.html"),
            tag("name", "twitter:card", "summary_large_image"),
        ]
    )


# --- Pages of the site as a whole ------------------------------------------------------------------------------------


def collect_not_found(app):
    """A page for addresses that are not there, in the book's dress."""
    path = re.sub(r"^\w+://[^/]+", "", app.config.html_baseurl) or "/"
    body = NOT_FOUND.format(root=app.config.root_doc)
    yield "404", {"title": "No such page", "body": body, "metatags": BASE.format(path=path)}, "page.html"


def write_sitemap(app, error):
    """List all pages for search engines, where the site has an address: a map must name it."""
    address = app.config.html_baseurl
    if error or not address:
        return
    rows = "".join(f"<url><loc>{escape(f'{address}{page}.html')}</loc></url>\n" for page in sorted(app.env.found_docs))
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    (Path(app.outdir) / "sitemap.xml").write_text(f"{head}{rows}</urlset>\n", "utf8")


def setup(app):
    """Called by Sphinx."""
    app.setup_extension("lesson_cards")
    app.connect("config-inited", end_with_slash)
    app.connect("env-updated", write_cards)
    app.connect("html-page-context", add_metadata)
    app.connect("html-collect-pages", collect_not_found)
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def end_with_slash(_app, config):
    """Pages are joined to the site's address."""
    if config.html_baseurl and not config.html_baseurl.endswith("/"):
        config.html_baseurl += "/"
