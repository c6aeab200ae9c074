"""The built site, in a real browser."""

import base64
import gzip
import html
import io
import json
import re
from collections import Counter
from contextlib import closing
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import pytest
from conftest import ROOT, toc_pages
from figure_fonts import FACES, STYLES, style_of
from fontTools.ttLib import TTFont
from lessons import LESSONS
from matplotlib.colors import to_rgb
from page_evidence import PHONE, Pages
from pictures import LEAST, contrast, picture
from sphinx.search.en import SearchEnglish
from sphinx_external_toc.parsing import parse_toc_yaml
from test_looks import source

from blackboard.charts.page_chart import pretty
from blackboard.charts.style import GROUNDS
from blackboard.lessons.batching import figures as batching
from blackboard.lessons.reversibility import figures as reversibility
from blackboard.reference import cost_charts

PAGES = toc_pages()
EVERY = [*PAGES, "search"]
CARDED = {"costs", "gpu", "reality", "serving"}  # pages with a figure beside the lessons
CHARTED = [name for name in PAGES if re.search(r"\w_chart\(", source(name))]
KB = 1000


@pytest.fixture(params=["served", "file"])
def base(request, site):
    """Address of the site: from a server, and straight from the disk."""
    return request.getfixturevalue("server") if request.param == "served" else site.as_uri()


@pytest.fixture(scope="session")
def pages(browser, site, server):
    """What every page showed in every mode."""
    return Pages(browser, site, server)


@pytest.fixture
def seen(pages, name, base, server):
    """What a page showed, from the server or from the disk as `base` says."""
    return pages.served(name) if base == server else pages.from_disk(name)


class Elements(HTMLParser):
    """All start tags of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Keep the tag."""
        self.found.append((tag, dict(attributes)))


@cache
def elements(site, name):
    """The start tags of a built page."""
    return Elements((site / f"{name}.html").read_text("utf8")).found


def test_every_page_of_the_contents_is_built(site):
    """Every page is there."""
    assert [name for name in EVERY if not (site / f"{name}.html").exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_prints_a_number_with_an_exponent(site, name):
    """$8.6e-05 is how a computer says it; what cells of code print is left to the code."""
    page = (site / f"{name}.html").read_text("utf8")
    shown = re.sub(r"<(script|style|svg|pre|code)\b.*?</\1>", " ", page, flags=re.S)
    shown = re.sub(r"<[^>]+>", " ", shown)
    assert re.findall(r"(?<![\w.-])\d+(?:\.\d+)?e[+-]\d\d\b.{0,30}", shown) == []


def test_every_page_of_the_contents_is_tested():
    """What these tests run over is the table of contents as Sphinx reads it, sections of sections and all."""
    assert list(parse_toc_yaml(ROOT / "_toc.yml")) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_shared(site, name):
    """It says in its head what it is, with a picture that is there; without an address of the site it names none."""
    tags = [attributes for tag, attributes in elements(site, name) if tag == "meta"]
    told = {each.get("property") or each.get("name"): each.get("content", "") for each in tags}
    assert 20 < len(told["description"]) <= 200 and told["og:description"] == told["description"]
    assert told["og:title"] and "og:url" not in told
    card = ((site / name).parent / told["og:image"]).resolve()
    assert card.stat().st_size > 5_000
    stem = name.rpartition("/")[2]
    assert card.stem == (stem if stem in LESSONS or stem in CARDED else "the-book")


def test_next_leads_past_the_solutions(site):
    """From a lesson to its exercises, and from there to the next lesson."""
    way, page = [], PAGES[0]
    while page:
        way.append(page)
        links = [each["href"] for _, each in elements(site, page) if each.get("class") == "right-next"]
        to = [(site / page).parent.joinpath(link).resolve().relative_to(site.resolve()) for link in links]
        page = to[0].with_suffix("").as_posix() if to else ""
    assert way == [page for page in PAGES if "/solutions/" not in page]


def test_practice_is_listed_below_its_lesson(site):
    """In the sidebar of any page: each lesson, and below it its exercises and their solutions."""
    page = (site / "book" / "glossary.html").read_text("utf8")
    listed = re.findall(r'class="toctree-l([12])[^"]*"><a class="[^"]*" href="([^"#]+)\.html"', page)
    for lesson in LESSONS:
        at = listed.index(("1", lesson))
        below = [("2", f"../exercises/{lesson}"), ("2", f"../exercises/solutions/{lesson}")]
        assert listed[at + 1 : at + 3] == below, lesson


@pytest.mark.parametrize("name", PAGES)
def test_figures_are_counted_on_each_page(site, name):
    """Those of a lesson have its number before theirs."""
    page, lesson = (site / f"{name}.html").read_text("utf8"), name.removeprefix("book/")
    before = f"{LESSONS.index(lesson) + 1}." if lesson in LESSONS else ""
    told = re.findall(r'class="caption-number">Fig\. ([\d.]+) ', page)
    assert told == [f"{before}{place}" for place in range(1, len(told) + 1)]


def test_an_address_that_is_not_there_has_a_page(visit, site, server):
    """In the book's dress, with links that lead from any depth; and GitHub Pages is told to publish all files."""
    assert (site / ".nojekyll").exists()
    seen = visit(f"{server}/404.html")
    seen.page.click("article a")
    seen.page.wait_for_url(f"{server}/{PAGES[0]}.html")
    assert seen.complaints == []


def test_times_of_the_lecture_lead_to_the_video(site):
    links = {each["href"] for _, each in elements(site, "book/batching") if each.get("class") == "lecture-time"}
    assert links and all(re.fullmatch(r"https://www\.youtube\.com/watch\?v=xmkSf5IS-zw&t=\d+s", link) for link in links)
    minutes = {each["href"][-6:] for _, each in elements(site, "book/racks") if each.get("class") == "lecture-time"}
    assert {"=1920s", "=2820s"} <= minutes, "0:32 to 0:47"


UNLINKED = re.compile(r"(?s)<(script|style|svg|a|pre|code|summary|button|practice-box|h[1-3])\b.*?</\1>")
TIME = re.compile(r"(?<![\d:])\d:[0-5]\d(?::[0-5]\d| to \d:[0-5]\d(?!:))")


@pytest.mark.parametrize("name", PAGES)
def test_every_time_of_the_lecture_is_a_link(site, name):
    """Also below a chart, whose script holds signs of less; minutes too, from one to another."""
    page = (site / f"{name}.html").read_text("utf8")
    text = re.sub("<[^>]+>", "", UNLINKED.sub("", page[page.index("<article") : page.rindex("</article>")]))
    assert TIME.findall(text) == []


def test_figures_bring_their_letters(site):
    """In each style that a figure has, all of its letters that the book's own face has."""
    own = {style: TTFont(FACES / f"{style}.ttf").getBestCmap() for style in STYLES}
    for path in site.glob("_images/*.svg"):
        figure = path.read_text("utf8")
        faces = re.findall(r"@font-face \{([^}]*),([^)]*)\)", figure)
        brought = {style_of(rule): TTFont(io.BytesIO(base64.b64decode(data))).getBestCmap() for rule, data in faces}
        for told, said in re.findall(r'<(?:text|tspan)\b[^>]*style="([^"]*)"[^>]*>([^<]+)<', figure):
            style = style_of(told)
            assert {ord(letter) for letter in said} & own[style].keys() <= brought[style].keys(), (path.name, said)


def test_stills_bring_their_letters(site):
    """A picture within a page cannot use the page's letters; nor is a sign of the page's styles given any."""
    own = TTFont(FACES / "regular.ttf").getBestCmap().keys()
    for path in site.glob("book/*.html"):
        page = path.read_text("utf8")
        stills = re.findall(r'<picture class="chart-still".*?</picture>', page, re.S)
        for address in re.findall('"data:image/svg[^,]*,([^"]*)', "".join(stills)):
            drawn = unquote(address)
            brought = TTFont(io.BytesIO(base64.b64decode(re.search(r"base64,([^)]*)\)", drawn)[1]))).getBestCmap()
            shown = {ord(letter) for said in re.findall("<text[^>]*>([^<]+)<", html.unescape(drawn)) for letter in said}
            assert shown & own <= brought.keys(), (path.name, shown)
        assert page.count("@font-face%20%7B") == len(re.findall("srcset=|src=", "".join(stills)))


def test_the_front_door_leads_in(visit, base):
    """index.html goes to the first page."""
    page = visit(f"{base}/{PAGES[0]}.html").page
    page.goto(f"{base}/index.html")
    page.wait_for_url(f"{base}/{PAGES[0]}.html")


def test_every_page_names_its_icon(site):
    """Also the front door: without one a browser asks for /favicon.ico, and logs an error."""
    for path in [*site.glob("*.html"), *site.glob("book/*.html"), *site.glob("exercises/**/*.html")]:
        links = [each for tag, each in Elements(path.read_text("utf8")).found if tag == "link"]
        icons = [path.parent / each["href"] for each in links if each.get("rel") == "icon"]
        assert icons and all(icon.exists() for icon in icons), path.name


@pytest.mark.parametrize("name", EVERY)
def test_no_request_leaves_and_nothing_complains(seen, base, name):
    """A page asks no other host for anything, and neither scripts nor the console report an error."""
    assert [url for url in seen.requests if not url.startswith((base, "data:", "blob:"))] == []
    assert seen.complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_every_formula_is_set(pages, name):
    """No TeX is left as it was typed."""
    assert pages.served(name).content["typed"] == []


@pytest.mark.parametrize("name", EVERY)
def test_no_address_of_a_script_or_style_is_outside(site, name):
    """Nothing that a page loads names another host, even where this browser would not fetch it."""
    loads = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
    named = [attributes.get(loads[tag]) or "" for tag, attributes in elements(site, name) if tag in loads]
    assert [url for url in named if re.match(r"(https?:)?//", url)] == []


@pytest.mark.parametrize("name", EVERY)
def test_ids_are_unique(pages, name):
    """No id is given twice, also after the scripts have run."""
    ids = pages.served(name).content["ids"]
    assert ids and [each for each, count in Counter(ids).items() if count > 1] == []


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", EVERY)
def test_no_accessibility_violation(pages, name, mode):
    """axe-core finds nothing in light, and in dark no lack of contrast, nor a link that is lost among words."""
    seen = pages.served(name)
    assert seen.theme == "dark"
    assert seen.violations[mode] == []


@pytest.mark.parametrize("name", EVERY)
def test_no_sideways_scroll_on_a_phone(pages, name):
    """At 360 pixels what is too wide scrolls inside its own box, not the page."""
    assert 0 < pages.served(name).phone_width <= 360


BOXES = """() => [...document.querySelectorAll("article table")].map(table => {
  const box = table.closest(".table-box, .pst-scrollable-table-container, .interactive-chart");
  return box && getComputedStyle(box).overflowX;
})"""


def test_every_table_scrolls_in_a_box_of_its_own(visit, server):
    found = visit(f"{server}/book/reality.html", width=360).page.evaluate(BOXES)
    assert found and set(found) == {"auto"}


@pytest.mark.parametrize("name", EVERY)
def test_every_picture_says_what_it_shows(site, name):
    """Each img has an alt text, and it is not the file's name."""
    alts = [attributes.get("alt") or "" for tag, attributes in elements(site, name) if tag == "img"]
    assert [alt for alt in alts if not alt.strip() or re.fullmatch(r"\S+\.(png|svg|jpe?g|gif|webp)", alt)] == []


@pytest.mark.parametrize(
    ("name", "figures", "drawing", "args"),
    [
        ("book/batching", batching, "card", ()),
        ("book/reversibility", reversibility, "segments", ()),
        ("book/costs", cost_charts, "chart", ("chat",)),
    ],
)
def test_a_figure_says_on_its_page_what_it_says_itself(site, name, figures, drawing, args):
    figure, found = picture(figures, drawing, args), elements(site, name)
    place = [attributes.get("id") for _, attributes in found].index(figure.name)
    assert (found[place][0], found[place + 1][0]) == ("figure", "img") and found[place + 1][1]["alt"] == figure.alt
    assert figure.caption.replace("'", "’") in (site / f"{name}.html").read_text("utf8")


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("book/")])
def test_no_page_shows_the_source_of_what_it_displays(site, name):
    page = (site / f"{name}.html").read_text("utf8")
    cells = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r'<div class="highlight.*?</pre>', page, re.S)]
    assert [cell for cell in cells if re.search(r"^(figures|charts|p)[.\[]", cell, re.M)] == []


STYLE = re.compile(r"<style>(.*?)</style>", re.S)


@pytest.mark.parametrize("name", PAGES)
def test_first_load_is_light(pages, site, name):
    """Theme, fonts, Vega, pictures and the page itself: at most 0.9 MB; the page alone, but for its styles, 60 kB."""
    weights = pages.served(name).weights
    assert sum(weights.values()) <= 900 * KB, sorted(weights.items(), key=lambda item: -item[1])
    assert len(gzip.compress(STYLE.sub("", (site / f"{name}.html").read_text("utf8")).encode())) <= 60 * KB


@pytest.mark.parametrize("name", PAGES)
def test_little_is_loaded_before_a_page_shows(site, name):
    """Styles of at most 30 kB stand in the page, whose addresses are right; no sheet and no script is asked for."""
    head, _, body = (site / f"{name}.html").read_text("utf8").partition("</head>")
    found, shown = Elements(head).found, Elements(re.sub(r"(?s)<template\b.*?</template>", "", body)).found
    assert [each for tag, each in found if tag == "link" and each.get("rel") == "stylesheet"] == []
    (style,) = STYLE.findall(head)
    assert len(gzip.compress(style.encode())) <= 30 * KB
    addresses = [
        each for each in re.findall(r"url\(([^)]+)\)", style) if not each.startswith(("data:", '"data:', "'data:"))
    ]
    assert addresses and all((site / name).parent.joinpath(each).exists() for each in addresses)
    assert [each["src"] for tag, each in [*found, *shown] if tag == "script" and "src" in each] == []


def test_a_page_in_a_tab_that_is_not_drawn_has_its_scripts(browser, server):
    """Opened in the background, a page gets no frame to draw."""
    context = browser.new_context()
    context.add_init_script("window.requestAnimationFrame = () => 0")
    page = context.new_page()
    page.goto(f"{server}/book/paging.html")
    assert page.evaluate("!!customElements.get('practice-box')")
    context.close()


@pytest.mark.parametrize("name", EVERY)
def test_a_page_leaves_room_for_its_pictures(site, name):
    """Each picture from a file has its size, in its own proportions; all but the first wait until they come near."""
    images = [attributes for tag, attributes in elements(site, name) if tag == "img"]
    drawn = [(n, each) for n, each in enumerate(images) if each["src"].endswith(".svg")]
    for number, each in drawn:
        svg = (site / name).parent.joinpath(each["src"]).read_text("utf8")
        width, height = re.search(r'<svg\b[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups()
        assert int(each["width"]) / int(each["height"]) == pytest.approx(float(width) / float(height), rel=0.01)
        assert number == 0 or each.get("loading") == "lazy"


@pytest.mark.parametrize("mode", GROUNDS)
def test_a_first_visitor_s_page_has_its_colors_before_any_script_is_loaded(browser, server, mode):
    context = browser.new_context(color_scheme=mode)
    context.route("**/*.js*", lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{server}/book/index.html")
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    context.close()


def problem_scripts(site, name):
    """The attributes of the script elements of a page that hold problems."""
    loaded = [attributes for tag, attributes in elements(site, name) if tag == "script"]
    return [each for each in loaded if "/problems/" in (each.get("src") or "")]


@pytest.mark.parametrize("name", EVERY)
def test_a_page_loads_the_problems_it_shows(site, name):
    """One deferred script for each lesson whose answer boxes a page shows, none for others; a hash renews it in
    caches.
    """
    shown = {attributes["data-lesson"] for tag, attributes in elements(site, name) if tag == "practice-box"}
    scripts = problem_scripts(site, name)
    up = "../" * name.count("/")
    assert sorted(re.sub(r"\?v=\w+$", "", each["src"]) for each in scripts) == sorted(
        f"{up}_static/problems/{lesson}.js" for lesson in shown
    )
    assert all("defer" in each and "?v=" in each["src"] for each in scripts)


@pytest.mark.parametrize("name", PAGES)
def test_every_answer_box_wakes(seen, site, name):
    """From a server and from the disk each box has its problem; the page itself holds no problem's data."""
    boxes = sum(tag == "practice-box" for tag, _ in elements(site, name))
    assert seen.content["boxes"] == seen.content["awake"] == boxes
    assert seen.content["data"] == 0


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_every_problem_is_stated(pages, site, name):
    """A box that nothing wakes still asks its question."""
    asked = pages.without_scripts(name)
    assert len(asked) == sum("practice-ask" in (each.get("class") or "").split() for _, each in elements(site, name))
    assert [question for visible, question in asked if not visible or not question] == []


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("book/")])
def test_without_scripts_hints_and_solutions_are_folds(site, name):
    """Each box has at least one hint and its solution where no script runs."""
    text = (site / f"{name}.html").read_text("utf8")
    boxes = re.findall(r"<practice-box.*?</practice-box>", text, re.S)
    folds = [re.findall(r"<noscript>.*?</noscript>", box, re.S) for box in boxes]
    assert all(len(each) == 1 and each[0].count("<details>") >= 2 and "Solution" in each[0] for each in folds)


class Prose(HTMLParser):
    """The words of a page that are not inside a script or style."""

    def __init__(self, text):
        super().__init__()
        self.silent, self.words = 0, set()
        self.feed(text)

    def handle_starttag(self, tag, _):
        """Scripts and styles are silent."""
        self.silent += tag in ("script", "style")

    def handle_endtag(self, tag):
        """Their end."""
        self.silent -= tag in ("script", "style")

    def handle_data(self, data):
        """Keep the words."""
        self.words |= set() if self.silent else words(data)


def letters(text):
    """The letters of a page's formulas, which the search reads as words: Nact."""
    formulas = re.findall(r"<math.*?</math>", text, re.S)
    return set().union(*(words(re.sub(r"<[^>]+>", "", formula)) for formula in formulas))


def words(text):
    """The words of a text as the search splits them."""
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def test_search_does_not_read_the_problems_data(site):
    """Words that only the problems' data has, such as spellings of units, are in no index."""
    data = words(" ".join(path.read_text("utf8") for path in (site / "_static" / "problems").glob("*.js")))
    pages = [(site / f"{name}.html").read_text("utf8") for name in PAGES]
    prose = set().union(*(Prose(page).words | letters(page) for page in pages))
    index = json.loads((site / "searchindex.js").read_text("utf8").removeprefix("Search.setIndex(").removesuffix(")"))
    stem, known = SearchEnglish({}).stem, {SearchEnglish({}).stem(word) for word in prose}
    hidden = {stem(word) for word in data} - known
    assert len(hidden) > 20, "nothing to look for"
    assert hidden & index["terms"].keys() == set()


def test_search_finds_the_lesson(visit, base):
    """The search page works, also from the disk."""
    seen = visit(f"{base}/search.html?q=batching")
    seen.page.wait_for_selector("#search-results li a[href*='batching']", timeout=10_000)
    assert seen.complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_every_slider_moves_its_picture(seen, site, name):
    """Every interactive chart is drawn, its inputs have names, and each slider changes what is seen."""
    charts = seen.content["charts"]
    assert len(charts) == sum(each.get("class") == "interactive-chart" for _, each in elements(site, name))
    assert all(each["live"] and not each["still"] for each in charts)
    labels = [labels for each in charts for labels in each["sliders"]]
    assert all(len(each) == 1 and each[0] for each in labels), labels
    assert [label for label, moves in seen.moved if not moves] == []
    assert len(seen.moved) == len(labels)


@pytest.mark.parametrize("lesson", ["paging", "racks"])
def test_a_link_to_a_section_opens_there(visit, server, lesson):
    """Boxes and charts above it begin after it was found."""
    page = visit(f"{server}/book/{lesson}.html#practice").page
    page.wait_for_timeout(500)
    assert 0 <= page.evaluate("document.querySelector('#practice h2').getBoundingClientRect().top") <= 120


ENDS = """() => [...document.querySelectorAll('.chart-control input[type=range]')].map(control => {
  control.value = control.max;
  control.dispatchEvent(new Event('input', { bubbles: true }));
  return [Number(control.max), control.dataset, control.nextElementSibling.textContent];
})"""


def test_a_phone_begins_with_what_is_near_its_screen(browser, server):
    awake = "[...document.querySelectorAll('practice-box')].map((box) => Boolean(box.problem))"
    with closing(browser.new_page(viewport=PHONE)) as page:
        page.goto(f"{server}/book/racks.html")
        page.wait_for_function(f"{awake}[0]")
        assert not all(page.evaluate(awake))
        sections = "[...document.querySelectorAll('.bd-article > section > section')]"
        laid_out = f"{sections}.every(({{ style }}) => style.contentVisibility === 'visible')"
        assert not page.evaluate(laid_out)
        page.keyboard.press("Tab")
        page.wait_for_function(f"{awake}.every(Boolean)")
        page.wait_for_function(laid_out)
        page.goto(f"{server}/book/racks.html?#practice")
        page.wait_for_function(f"{awake}.every(Boolean)")


def test_values_beside_sliders_are_written_as_in_python(visit, server):
    """At the end of each, among them tokens by the thousand trillion."""
    told = visit(f"{server}/book/overtraining.html").page.evaluate(ENDS)
    stop = lambda top, data: (
        float(f"{float(data['base']) ** top:.{int(data['digits']) - 1}e}") if "base" in data else top
    )
    values = [(stop(top, data), said) for top, data, said in told]
    assert max(values)[0] > 1e15 and [said for _, said in values] == [pretty(value) for value, _ in values]


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", CHARTED)
def test_a_chart_is_drawn_in_the_place_of_its_picture(pages, name, width):
    """Nothing is loaded for it before; result, facts and controls are there at once; then nothing moves."""
    seen = pages.served(name) if width == 1280 else pages.from_disk(name)
    assert seen.before and not any(each["loaded"] or each["drawn"] for each in seen.before)
    for before, after in zip(seen.before, seen.after, strict=True):
        assert after["drawn"] and after["texts"] == before["texts"]
        np.testing.assert_allclose(after["places"], before["places"], atol=2)


@pytest.mark.parametrize("name", CHARTED)
def test_a_chart_and_its_controls_fit_a_screen(pages, name):
    """On a laptop of 1366 × 650 and on a phone of 740 pixels the reader sees what a control moves; two or three of them
    stand beside the chart.
    """
    for seen, most in ((pages.served(name), 600), (pages.from_disk(name), 740)):
        for each in seen.content["charts"]:
            assert each["height"] <= most and each["result"] and 1 <= each["first"] <= 3, each


@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("name", CHARTED)
def test_texts_of_charts_can_be_read(pages, name, theme):
    """All texts of the interactive charts have contrast against the page, which is the ground that the palette knows;
    in the dark once chosen before and once chosen on the page.
    """
    ground = to_rgb(GROUNDS[theme])
    looks = [pages.served(name).colours[theme]] + [pages.from_disk(name).colours] * (theme == "dark")
    for look in looks:
        assert [part / 255 for part in look["ground"]] == pytest.approx(ground)
        for texts in (look["texts"], look["stills"]):
            shares = [(said, contrast([part / 255 for part in fill], ground)) for said, fill in texts]
            assert shares and [row for row in shares if row[1] < LEAST] == []


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", CHARTED)
def test_charts_are_whole_at_the_ends_of_their_controls(pages, name, width):
    """No text is lost wherever a control is moved, and the console stays silent."""
    seen = pages.served(name) if width == 1280 else pages.from_disk(name)
    assert len(seen.extremes) == len(seen.content["charts"]) > 0
    for told in seen.extremes:
        assert told["states"] >= 5 and told["texts"] > 5
        assert told["found"] == [], told["chart"]
    assert seen.complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_no_cell_runs_over_the_next(pages, name):
    """No text of a table leaves its cell: on a screen, on a phone, on paper."""
    assert pages.served(name).cells == {"screen": [], "phone": [], "paper": []}


@pytest.mark.parametrize("name", PAGES)
def test_paper_shows_the_still_picture(pages, name):
    """In print each interactive chart is its still picture."""
    seen = pages.served(name)
    assert seen.paper == [[True, True, False, False, False]] * len(seen.content["charts"])
