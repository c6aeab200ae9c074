"""A Sphinx extension: mends what Sphinx and the theme write wrongly into a page, and writes what pages load: problems,
the deck of flashcards, the planner.
"""

import hashlib
import html
import json
import re
import shutil
from functools import cache
from importlib import import_module
from pathlib import Path

from docutils import nodes
from mathml import set_strings
from number_columns import align_numbers
from quotes import curl_problem, curl_quotes

SCRIPTS = "book/_scripts"
LOADED_BY = {  # scripts and styles, by what a page has
    "tables.js": '<div class="data-table',
    "tables.css": '<div class="data-table',
    "formulas.js": " data-latex=",
    "progress.js": "<progress-list ",
    "claims.js": ' data-verdict="',
    "claims.css": ' data-verdict="',
    "flashcards.js": '<details class="flashcard"',
    "flashcards.css": '<details class="flashcard"',
}
DECK = 'href="../_static/flashcards/'
PLANNER = 'id="plan" data-script='
# What asks Python in the page, by the script that wakes it up; tools/page_python.py puts the scripts there.
PYTHON = "../vendor/labs"
ASKING = {"cells.js": ("<live-cell ",), "": ("<lab-box ", 'data-kind="function"')}  # boxes.js itself fetches lab.js
BOX = re.compile(r'<practice-box [^>]*data-lesson="([^"]+)"')
VIDEO = "https://www.youtube.com/watch?v=xmkSf5IS-zw"
TIME = re.compile(r"\b([0-2]):([0-5]\d):([0-5]\d)\b")
SPAN = re.compile(r"(?<![\d:])([0-2]):([0-5]\d)( to )([0-2]):([0-5]\d)\b(?!:)")  # of minutes; a ratio is none
DATE = re.compile(r"(?<![\w/.-])20\d\d-\d\d(?:-\d\d)?(?![\w/-])")  # which no line shall break
UNIT = r"(?:[kMGTPE]?(?:B|bits?|FLOPs?|Wh?|Hz)|[mµn]?s|min|h|¢)(?!\w)"
BEFORE_UNIT = re.compile(rf"(?<=\d) (?={UNIT})")
SIGN = re.compile(r"(?<=[\w)%¢]) ([=÷]) (?=[\d$])")  # with what stands before and after it
TAGS = re.compile(r"(<script\b.*?</script>|<[^>]+>)", re.S)  # what a script holds may look like a tag
UNLINKED = re.compile(r"<(/?)(a|h1|h2|h3|pre|code|style|svg|summary|button|select|textarea|practice-box)\b[^>]*(?<!/)>")
CELL = r'<div class="cell[^"]*">\s*<div class="cell_output[^"]*">\s*<div class="output[^"]*">\s*'  # is three boxes
AFTER_FOLD = re.compile(rf'(</details>\s*</div>\s*</div>\s*</div>\s*(?:{CELL})?<details class="[^"]*)')
OPENS = re.compile(
    r'(?<=<div class="output text_html)'
    r'(?=">\s*<(?:(?:details|practice-box)\b|div class="(?:claim-heads|table-box claim-far)"))'
)  # with a fold, a box, or what stays in sight
MARKED = r"<(?:span|strong)\b[^>]*>[^<]*</(?:span|strong)>"
LETTER_VALUE = re.compile(rf"(<math\b[^>]*>(?:(?!</?math\b).){{1,300}}</math>)\u00a0=\u00a0({MARKED}|[^\s<]+)", re.S)
FORMULA_UNIT = re.compile(rf"(<math\b[^>]*>(?:(?!</?math\b).){{1,300}}?</mn></math>)[ \u00a0]({UNIT}[,.;:)]*)", re.S)
# What a sign leads to may be in a tag of its own. Before the sign a line may break.
AFTER_SIGN = re.compile(r"((?:(?<=[\w)%¢]) |^ )[=÷×/≈+−]) (?=[\d$(]|$)")
NUMBERED = re.compile(r"(?:(?<=\d to)|(?<=\b[A-Z])) (?=\d)")  # 0 to 1; A 0.5
HEAD = re.compile(r"<thead\b.*?</thead>", re.S)
NAME = re.compile(r"(?<![\w/.-])[A-Z]\w+-V\d(?:\.\d)?(?![\w-])(?=[^<>]*<)")  # outside of a tag
LITERAL = re.compile(r'(?<=<code class="docutils literal notranslate)">(.*?)(?=</code>)', re.S)
BREAKS = re.compile(  # of a name, a path or a call; not before the few letters that end a file's name
    r"(?:(?<=\w[_/])(?=\w)|(?<=\w[.(])(?=[^\W\d]{5}))(?=[^<>]*</span>)"
)
PHONE_LINE = 30  # letters of code that a line of a phone surely holds
OUTPUT = re.compile(r'(?<=ansi notranslate"><div class="highlight"><pre)>(<span></span>.*?)(?=</pre>)', re.S)
FITTED = range(47, 56)  # signs of a printed line for which a phone's type is smaller; more are not to be read
BLOCK = re.compile(r"</(?:p|d[dlt]|h[1-6]|li|t[hdr]|caption|summary|details|div|article)>(?=<)")


def add_launchers(app, config):
    """Buttons that launch a notebook, where _config.yml names a repository. Colab opens GitHub's alone."""
    import yaml

    settings = yaml.safe_load((Path(app.srcdir) / "_config.yml").read_text("utf8"))
    address, buttons = settings["repository"]["url"], settings["launch_buttons"]
    if address:
        on_github = "github.com/" in address
        buttons = {name: value for name, value in buttons.items() if on_github or name != "colab_url"}
        named = {"repository_url": address, "repository_branch": settings["repository"]["branch"]}
        config.html_theme_options |= named | {"launch_buttons": buttons}


def mend_launchers(_app, _page, _template, context, _doctree):
    """Colab does not open notebooks that are written as text."""
    for group in context.get("header_buttons", []):
        if group["label"] == "launch-buttons":
            opens = lambda button: button["text"] != "Colab" or button["url"].endswith(".ipynb")
            group["buttons"] = list(filter(opens, group["buttons"]))


def skip_solutions(app, page, _template, context, _doctree):
    """Next leads from a lesson to its exercises and from there to the next lesson; solutions are looked up."""
    relations = app.builder.relations  # {page: (page above, page before, page after)}
    for name, way in (("prev", 1), ("next", 2)):
        target = relations.get(page, (None, None, None))[way]
        if target and target.startswith("exercises/solutions/") and (beyond := relations[target][way]):
            title = app.builder.render_partial(app.env.titles[beyond])["title"]
            context[name] = {"link": app.builder.get_relative_uri(page, beyond), "title": title}


def mend_bibliography(body):
    """Entries are items of its list (the role they are given is deprecated), and have no keys: citations have authors
    and years. Authors who are not named are "others" everywhere, as where the file itself leaves them out.
    """
    body = body.replace("<em>et al.</em>", "and others")
    body = re.sub(r'<span class="label"><span class="fn-bracket">.*?\]</span></span>\s*', "", body)
    return body.replace('role="doc-biblioentry"', 'role="listitem"')


def mend_folds(body):
    """A fold is called what it says: MyST-NB gives every one the same other name. One right after a cell's, also
    in a cell, is marked: they share a line.
    """
    body = OPENS.sub(" opens", AFTER_FOLD.sub(r"\1 after-fold", body))
    return body.replace(' aria-label="Toggle hidden content"', "")


def link_times(body):
    """A time of the lecture leads to that minute of the video, unless it is in a link, a heading, code or a picture. A
    date is kept in one line, and so are a number with its unit and a quotient with its value.
    """
    parts, inside = TAGS.split(body), []
    for n, part in enumerate(parts):
        if part.startswith("<script"):
            continue
        if tag := UNLINKED.match(part):
            if not tag[1]:
                inside.append(tag[2])
            elif inside:
                inside.pop()
        elif not inside and not part.startswith("<"):
            linked = SPAN.sub(link_span, TIME.sub(lambda time: link_time(*time.groups()), part))
            dated = DATE.sub(r'<span class="date">\g<0></span>', linked)
            parts[n] = keep_quantities(dated)
        elif inside == ["practice-box"] and not part.startswith("<"):
            parts[n] = keep_quantities(part)  # as in the data that its box gets: else lines would move then
    return "".join(parts)


def keep_values(body):
    """No line parts a letter from its value, or a formula from its unit: browsers break between a formula and a blank
    that does not break.
    """
    body = FORMULA_UNIT.sub('<span class="date">\\1\u00a0\\2</span>', body)
    body = body.replace("</math> = ", "</math>\u00a0=\u00a0")
    return LETTER_VALUE.sub('<span class="date">\\1\u00a0=\u00a0\\2</span>', body)


def keep_quantities(text):
    """A text in which no line parts a number from its unit, a quotient from its value, or a number from the sign, the
    letter or the "to" of a range before it.
    """
    whole = SIGN.sub("\u00a0\\1\u00a0", BEFORE_UNIT.sub("\u00a0", text))
    return NUMBERED.sub("\u00a0", AFTER_SIGN.sub("\\1\u00a0", whole))


def keep_heads(body):
    """A name such as DeepSeek-V3 keeps to a line in the head of a table's column."""
    return HEAD.sub(lambda head: NAME.sub('<span class="date">\\g<0></span>', head[0]), body)


def link_time(*digits):
    """A time in hours, minutes and at times seconds as a link."""
    hours, minutes, seconds = map(int, (*digits, "0")[:3])
    at, shown = 3600 * hours + 60 * minutes + seconds, ":".join(digits)
    return f'<a class="lecture-time" href="{VIDEO}&amp;t={at}s">{shown}</a>'


def link_span(span):
    """From one minute to another, both as links."""
    return f"{link_time(span[1], span[2])}{span[3]}{link_time(span[4], span[5])}"


def part_blocks(_app, doctree, _page):
    """Put a line's end between the blocks of what a cell printed: the search strips tags and would glue the last word
    of one to the next.
    """
    for node in doctree.findall(nodes.raw):
        if "html" in node.get("format", "").split():
            node[:] = [nodes.Text(BLOCK.sub("\\g<0>\n", node.astext()))]


def note_result(app, page, _source):
    """A page depends on what its notebook put out, which the build keeps: Sphinx knows of its text alone."""
    folder = Path(app.config.nb_execution_cache_path)
    known = json.loads((folder / "pages.json").read_text("utf8"))
    if known.get(page, {}).get("result"):
        app.env.note_dependency(str(folder / "executed" / known[page]["result"] / "base.ipynb"))


# --- The problems: a script for each lesson, which the pages load that have its answer boxes -----------------------


def boxes(env):
    """{page: the lessons whose answer boxes it has}."""
    if not hasattr(env, "boxes"):
        env.boxes = {}
    return env.boxes


def note_boxes(app, doctree):
    """Note the answer boxes of a page."""
    found = {lesson for node in doctree.findall(nodes.raw) for lesson in BOX.findall(node.astext())}
    boxes(app.env)[app.env.docname] = sorted(found)


def forget_boxes(_app, env, page):
    """A page is read anew or gone."""
    boxes(env).pop(page, None)


def merge_boxes(_app, env, pages, other):
    """What another process has read."""
    boxes(env).update((page, found) for page, found in boxes(other).items() if page in pages)


def write_problems(app, env):
    """Write the scripts of problems that have changed, before any page is written; the pages that load them."""
    lessons = {lesson for found in boxes(env).values() for lesson in found}
    folder, stamp = app.outdir / "_static" / "problems", app.doctreedir / "problems"
    now = state_of_library(app.srcdir / "lib") + str(sorted(lessons))
    if not lessons or (stamp.exists() and stamp.read_text() == now):
        return []
    folder.mkdir(parents=True, exist_ok=True)
    texts = scripts_of(sorted(lessons), app.parallel)
    old = {path.name: path.read_text("utf8") for path in folder.iterdir()}
    for name in old.keys() - texts.keys():
        (folder / name).unlink()
    changed = {name for name in texts if texts[name] != old.get(name)}
    for name in changed:
        (folder / name).write_text(texts[name], "utf8")
    stamp.write_text(now)
    return [page for page, found in boxes(env).items() if changed & {f"{lesson}.js" for lesson in found}]


def state_of_library(folder):
    """Hash of the library."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return hashlib.sha256(b"\0".join(path.as_posix().encode() + path.read_bytes() for path in files)).hexdigest()


def scripts_of(lessons, cores):
    """{file: script} of lessons, made side by side where Sphinx itself works so."""
    from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available

    import_module("blackboard.page.practice")  # once, and not in each of the processes
    texts = {}
    tasks = ParallelTasks(cores) if parallel_available and cores > 1 else SerialTasks()
    for lesson in lessons:
        tasks.add_task(script_of, lesson, lambda *told: texts.update([told[-1]]))
    tasks.join()
    return texts


def script_of(lesson):
    """The name of a lesson's script of problems, and the script."""
    from sphinx.errors import ExtensionError

    from blackboard.page.practice import problems
    from blackboard.page.problem_panel import script

    try:
        return f"{lesson}.js", script(problems(lesson), lambda data: set_strings(curl_problem(data, keep_quantities)))
    except Exception as error:  # whatever a problem may raise
        which = f"to see which: pytest tests/test_practice.py -k {lesson}"
        raise ExtensionError(f"a problem of {lesson} cannot be put on a page: {error!r} ({which})") from error


def load_problems(app, page):
    """A page loads the problems of the lessons whose answer boxes it shows, and no others."""
    for lesson in boxes(app.env).get(page, []):
        app.add_js_file(f"problems/{lesson}.js", loading_method="defer")


BOX_WHOLE = re.compile(r'(<practice-box [^>]*data-lesson="([^"]+)" data-problem="([^"]+)".*?)(</practice-box>)', re.S)


@cache
def problems_of(file):
    """{problem: its data} of a lesson's script."""
    text = file.read_text("utf8")
    return json.loads("[" + text[text.index("register(") + len("register(") : text.rindex("))")] + "]")[1]


def fold_answers(app, body):
    """Where no script runs, hints and solution are plain folds below the statement."""
    folder = app.outdir / "_static" / "problems"

    def folded(found):
        box, lesson, problem, end = found.groups()
        data = problems_of(folder / f"{lesson}.js")[problem]
        first = data | data["draws"][0]
        hints = [(f"Hint {n}", f"<p>{hint}</p>") for n, hint in enumerate(first["hints"], 1)]
        lines = "".join(f"<li>{line}</li>" for line in first["solution"])
        folds = [*hints, ("Solution", f"<ol>{lines}</ol>")]
        said = "".join(f"<details><summary>{name}</summary>{text}</details>" for name, text in folds)
        return f"{box}<noscript>{said}</noscript>{end}"

    return BOX_WHOLE.sub(folded, body)


def write_scripts(app, _env):
    """Put what only some pages load beside the rest; Jupyter Book would load them everywhere."""
    folder = app.outdir / "_static" / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    for name in LOADED_BY:
        shutil.copyfile(app.srcdir / SCRIPTS / name, folder / name)


# --- A page's body -------------------------------------------------------------------------------------------------


@cache
def write_deck(static):
    """Write the flashcards as an Anki deck, and the figures that their page shows too, once in a build."""
    from blackboard.reference import flashcards

    flashcards.write(static / "flashcards")


@cache
def write_planner(static):
    """Write the planner's script and style, once in a build."""
    from blackboard.planner import page

    page.write(static / "planner")


def load_planner(app):
    """Only the planner's page loads them: what lies in book/_static every page would load."""
    write_planner(app.outdir / "_static")
    app.add_js_file("planner/planner.js", loading_method="defer")
    app.add_css_file("planner/planner.css")


def defer_scripts(_app, page, _template, context, _doctree):
    """Sphinx's own scripts wait until the page is read, so that it shows at once; the search's need them earlier, and
    all need the options. No page has tabs that move together.
    """
    if page != "search" and "script_files" in context:
        wanted = [script for script in context["script_files"] if not str(script.filename).endswith("design-tabs.js")]
        context["script_files"] = [defer_script(script) for script in wanted]


def defer_script(script):
    """A script that waits, unless it is written into the page or the options."""
    if not script.filename or script.filename.endswith("documentation_options.js"):
        return script
    return type(script)(script.filename, priority=script.priority, **script.attributes | {"defer": "defer"})


def load_python(app, body):
    """Only pages on which a reader writes code load its scripts; Python itself comes with the first run."""
    wanted = [script for script, marks in ASKING.items() if any(mark in body for mark in marks)]
    if wanted:
        app.add_css_file(f"{PYTHON}/lab.css")
    for script in ["boxes.js", *filter(None, wanted)] if wanted else []:
        app.add_js_file(f"{PYTHON}/{script}", loading_method="defer")


def mend_page(app, page, _template, context, _doctree):
    """Mend a page's body before it is put into the template."""
    if "body" in context:
        load_python(app, context["body"])
        load_problems(app, page)
        # Lessons and the notation are of one width: a long table of theirs is folded.
        wide = not BOX.search(context["body"]) and " symbol-table" not in context["body"]
        found = [name for name, mark in LOADED_BY.items() if mark in context["body"]]
        for name in (name for name in found if wide or name != "tables.css"):  # after those of all pages
            if name.endswith(".css"):
                app.add_css_file(f"scripts/{name}", priority=900)
            else:
                app.add_js_file(f"scripts/{name}", loading_method="defer", priority=900)
        if DECK in context["body"]:
            write_deck(app.outdir / "_static")
        if PLANNER in context["body"]:
            load_planner(app)
        body = fold_answers(app, link_times(mend_folds(mend_bibliography(keep_values(keep_heads(context["body"]))))))
        context["body"] = LITERAL.sub(part_literal, OUTPUT.sub(fit_output, align_numbers(curl_quotes(body))))


def part_literal(found):
    """Short code in running text keeps to a line; a long name breaks behind signs such as a dot or a bracket."""
    short = len(html.unescape(re.sub("<[^>]+>", "", found[1]))) <= PHONE_LINE
    return f' short">{found[1]}' if short else '">' + BREAKS.sub("<wbr>", found[1])


def fit_output(found):
    """What a program printed says how long its lines are: on a phone its type is as small as that needs."""
    lines = html.unescape(re.sub("<[^>]+>", "", found[1])).split("\n")
    signs = max(map(len, lines))
    fives = -(-signs // 5) * 5  # so that outputs of nearly one length have one size on a page
    return f' style="--signs: {fives}">{found[1]}' if signs in FITTED else f">{found[1]}"


def find_plugins_once():
    """pybtex looks through all installed packages for each citation; one look is enough."""
    from pybtex import plugin

    plugin._load_entry_point = cache(plugin._load_entry_point)


def setup(app):
    """Called by Sphinx."""
    find_plugins_once()
    app.connect("source-read", note_result)
    app.connect("doctree-read", note_boxes)
    app.connect("env-purge-doc", forget_boxes)
    app.connect("env-merge-info", merge_boxes)
    app.connect("env-updated", write_problems)
    app.connect("env-updated", write_scripts)
    app.connect("doctree-resolved", part_blocks)
    app.connect("config-inited", add_launchers)
    app.connect("html-page-context", mend_launchers, priority=502)  # just after the theme has added the buttons
    app.connect("html-page-context", skip_solutions)
    app.connect("html-page-context", mend_page, priority=400)
    app.connect("html-page-context", defer_scripts, priority=900)  # after all have added theirs
    return {"parallel_read_safe": True, "parallel_write_safe": True}
