"""Build the book: run the notebooks, render the pages, then swap the finished site into _build/html.

Run through `python tools/course.py book`, or with the virtual environment's Python. With the name of a lesson, only its
pages are built, into a small site of their own, which may lack what they link to.
"""

import contextlib
import gc
import json
import os
import shutil
import sys
import time

import live_cells
import page_python
from figure_fonts import bring_letters
from image_sizes import make_room
from late_scripts import put_off_scripts
from notebooks import (
    BUILD,
    CACHE,
    ROOT,
    WORK,
    BuildError,
    files_under,
    hash_of,
    page_name,
    pages,
    run_notebooks,
    settings,
)
from section_heights import tell_heights
from styles import lighten_heads

SITE = BUILD / "html"
LESSONS = BUILD / "lessons"  # small sites, of one lesson each
PAGES = WORK / "pages"  # what Sphinx makes
DRESSING = (
    "build",
    "cells",
    "cell_pages",
    "figure_numbers",
    "html_fixes",
    "lesson_cards",
    "lesson_icons",
    "live_cells",
    "mathml",
    "number_columns",
    "page_metadata",
    "progress_list",
    "quotes",
    "styles",
)  # tools that shape pages
# What draws charts, which use a quarter of Vega's modules; what compiles a chart that a lab has made. vl-convert, whose
# version the lock names, holds these versions and no others.
VEGA = {
    "vega.js": """
import { View } from "/npm/vega-view@6.1.0/+esm";
import { parse } from "/npm/vega-parser@7.1.0/+esm";
import { transforms } from "/npm/vega-dataflow@6.1.0/+esm";
import * as ofData from "/npm/vega-transforms@5.1.0/+esm";
import * as ofMarks from "/npm/vega-view-transforms@5.1.0/+esm";
import * as ofScales from "/npm/vega-encode@5.1.0/+esm";
Object.assign(transforms, ofData, ofMarks, ofScales);
window.vega = { parse, View };
""",
    "vega-lite.js": 'import { compile } from "/npm/vega-lite@6.4.1/+esm"; window.vegaLite = { compile };',
}
HEADER = 'document.getElementsByClassName("bd-header")[0].getBoundingClientRect()'
CALM = [  # in scripts of the theme: what costs time while a page loads, and what stands for it
    ("pydata-sphinx-theme.js", "pre, .nboutput > .output_area, .cell_output > .output, .jp-RenderedHTMLCommon", "none"),
    ("bootstrap.js", f"e={HEADER};", f"e={{get bottom(){{return {HEADER}.bottom}}}};"),
]
REDIRECT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="_static/favicon.svg">
<meta http-equiv="refresh" content="0; url={page}"></head>
<body><main><h1>{title}</h1><p><a href="{page}">Read the book</a></p></main></body></html>
"""


# --- What is kept of the last build ---------------------------------------------------------------------------------


def keep_only(folder, key):
    """Throw a folder away unless it was made under this key."""
    stamp = folder / "key"
    if not stamp.exists() or stamp.read_text() != key:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stamp.write_text(key)


def drop_stale():
    """Forget every result of other packages or another Python, and every page of another contents or dress.

    Sphinx itself would keep pages that left the contents, and would not publish a changed style.
    """
    tools = ROOT / "tools"
    runs = [ROOT / "requirements.lock", tools / "notebooks.py", tools / "kernels.py", tools / "exercises.py"]
    keep_only(CACHE, hash_of(runs))
    told = [
        ROOT / name for name in ("_toc.yml", "_config.yml", "CITATION.cff")
    ]  # the last dates the deck of flashcards
    tints = ROOT / "lib" / "blackboard" / "charts" / "letters.py"
    dress = [*told, tints, *files_under("book/_static", "book/_scripts", "_templates")]
    keep_only(
        PAGES,
        hash_of(
            [
                *runs,
                *(tools / f"{name}.py" for name in DRESSING),
                *dress,
            ]
        ),
    )


# --- The pages ---------------------------------------------------------------------------------------------


def vendor():
    """What pages load only when they need it: Vega and Vega-Lite, from an installed package."""
    target = PAGES / "extra" / "vendor"
    if target.exists():
        return
    making = PAGES / "vendor.new"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    for file, wanted in VEGA.items():
        (making / file).write_text(bundle(wanted), "utf8")
    target.parent.mkdir(parents=True, exist_ok=True)
    making.rename(target)


def add_python(lessons):
    """Python for the pages, where it was fetched, and which cells of these lessons it can run."""
    page_python.install(PAGES / "extra" / "vendor" / "labs")
    if page_python.HERE.exists():
        live_cells.renew(sorted(lessons))
    else:
        shutil.rmtree(live_cells.LIVE, ignore_errors=True)


def bundle(wanted):
    """A script and the modules that it imports, in one file."""
    import vl_convert

    script = vl_convert.javascript_bundle(wanted)
    return f"(() => {{\n{script}\n}})();\n"  # written as a module: its hundreds of names stay inside


def sphinx_settings(**more):
    """_config.yml in Sphinx's words, with what only this build knows."""
    from jupyter_book.config import get_final_config

    ours = {
        "latex_individualpages": False,
        "html_extra_path": [str(PAGES / "extra")],
        "nb_execution_cache_path": str(CACHE),
        "nitpicky": True,
        **more,
    }
    config, _ = get_final_config(user_yaml=ROOT / "_config.yml", cli_config=ours, sourcedir=ROOT)
    del config["comments_config"]  # belongs to an extension we leave out
    return config


def render():
    """The strict Sphinx build into the private directory; it must end without one warning.

    What Sphinx has read it does not read again, and so does not complain of again: after a failure all is read anew.
    """
    unfinished = PAGES / "unfinished"
    if unfinished.exists():
        shutil.rmtree(PAGES / "doctrees", ignore_errors=True)
    unfinished.touch()
    run_sphinx(PAGES / "html", PAGES / "doctrees", sphinx_settings())
    unfinished.unlink()


def run_sphinx(site, doctrees, config):
    """Sphinx, on all cores where it can fork; it must end without one warning."""
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.console import nocolor
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    if not sys.stderr.isatty():
        nocolor()
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            ROOT,
            None,
            site,
            doctrees,
            "html",
            confoverrides=config,
            status=None,
            warningiserror=True,
            keep_going=True,
            parallel=os.cpu_count() or 1,
        )
        # It does not say so itself, but it numbers sections only after all pages have been read.
        app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
        try:
            app.build()
        except SphinxError as error:
            raise BuildError(f"The pages were not built: {error}") from error
        if app.statuscode:
            raise BuildError("The pages were not built: see the warnings above, each of which is an error here.")
        drop_unused_images(app)


def drop_unused_images(app):
    """Remove pictures that no page shows any more: Sphinx leaves them."""
    used = {name for _, name in app.env.images.values()}
    for path in (app.outdir / "_images").glob("*"):
        if path.name not in used:
            path.unlink()


def write_redirect():
    """The site's front door leads to the root page of the table of contents."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    page = f"{parse_toc_yaml(ROOT / '_toc.yml').root.docname}.html"
    (PAGES / "html" / "index.html").write_text(REDIRECT.format(page=page, title=settings()["title"]), "utf8")


def calm_theme(site):
    """The theme measures a box that may scroll, changes it and measures the next, each time on a page that is laid out
    anew, also after every change of a page. book/_static/site.js does the same for all such boxes at once. And it
    measures its header before anybody scrolls, while the page is still being made.
    """
    for name, busy, calm in CALM:
        script = site / "_static" / "scripts" / name
        text = script.read_text("utf8")
        if busy not in text:
            raise BuildError(f"the theme's {name} no longer measures as tools/build.py knows it")
        script.write_text(text.replace(busy, calm), "utf8")


def publish(made, site):
    """Put a finished site in place of the last one; at every moment there is a whole one or a backup."""
    new, old = site.with_name(f"{site.name}.new"), site.with_name(f"{site.name}.old")
    unused = shutil.ignore_patterns("*.map", "fontawesome", "locales", ".buildinfo", "*.pyc")
    for left_over in (new, old):
        shutil.rmtree(left_over, ignore_errors=True)
    shutil.copytree(made, new, ignore=unused)
    calm_theme(new)
    lighten_heads(new)
    put_off_scripts(new)
    make_room(new)
    bring_letters(new)
    tell_heights(new)
    # A directory cannot replace a full one in one step on every system, so two renames, the window a millisecond.
    if site.exists():
        site.rename(old)
    new.rename(site)
    shutil.rmtree(old, ignore_errors=True)


def restore():
    """After a crash between the two renames, the last good site comes back."""
    if not SITE.exists() and (BUILD / "html.old").exists():
        (BUILD / "html.old").rename(SITE)


# --- All of it ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def alone():
    """One build at a time: a second one waits."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "lock", "w") as file:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def set_environment():
    """Notebooks import this checkout's library, run this Python, and reach no network."""
    os.environ["PYTHONPATH"] = str(ROOT / "lib")
    sys.path.insert(0, str(ROOT / "lib"))  # html_fixes.py takes the problems from it
    sys.modules["rfc3987_syntax"] = None  # over a second of grammars, by which jsonschema would check addresses
    os.environ["BLACKBOARD_PAGE"] = "1"  # outputs carry what a static page needs: answer boxes, still pictures
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a notebook to a core; and the last digit is that of every other machine
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        os.environ[name] = "http://127.0.0.1:9"  # nothing listens: whatever tries to fetch fails at once


def build():
    """Run, render, publish."""
    start = time.monotonic()
    restore()
    drop_stale()
    ran, notebooks = run_notebooks(pages())
    vendor()
    add_python(live_cells.lesson_names())
    print("rendering", flush=True)
    render()
    write_redirect()
    publish(PAGES / "html", SITE)
    site, taken = SITE.relative_to(ROOT) / "index.html", time.monotonic() - start
    print(f"built {site} in {taken:.1f} s: {said(ran, notebooks)}")


def pages_of(lesson):
    """The pages of one lesson: what one reads, the exercises, their solutions."""
    found = [path for path in pages() if path.stem == lesson]
    if not found:
        lessons = sorted(path.stem for path in pages() if path.suffix == ".md")
        raise BuildError(f"there is no page {lesson!r}; there are: {', '.join(lessons)}")
    return found


def write_contents(paths):
    """A table of contents of these pages alone, and of the bibliography, without which citations lead nowhere."""
    names = [page_name(path) for path in paths]
    names += [page_name(path) for path in pages() if path.stem == "bibliography" and path not in paths]
    chapters = [{"file": name} for name in names[1:]]
    contents = {"format": "jb-book", "root": names[0]} | ({"chapters": chapters} if chapters else {})
    file = WORK / "lessons" / f"{paths[0].stem}.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(contents), "utf8")  # which is YAML too
    return file


def build_lesson(lesson):
    """Run and render the pages of one lesson; links to pages that are not built stay plain text."""
    start = time.monotonic()
    drop_stale()
    paths = pages_of(lesson)
    ran, notebooks = run_notebooks([*paths, *(path for path in pages() if path.stem == "bibliography")])
    vendor()
    add_python({path.stem for path in paths} & {*live_cells.lesson_names()})
    quiet = [*settings()["sphinx"]["config"]["suppress_warnings"], "myst.xref_missing", "ref", "toc"]
    contents = write_contents(paths)
    config = sphinx_settings(nitpicky=False, suppress_warnings=quiet, external_toc_path=str(contents))
    made = PAGES / "lessons" / lesson
    run_sphinx(made / "html", made / "doctrees", config)
    publish(made / "html", LESSONS / lesson)
    page = LESSONS / lesson / f"{page_name(paths[0])}.html"
    print(f"built {page.as_uri()} in {time.monotonic() - start:.1f} s: {said(ran, notebooks)}")


def said(ran, notebooks):
    """How many notebooks were run and how many were not."""
    return f"{ran} of {notebooks} notebooks run, the others taken as they were"


def main(arguments):
    """Build, or say why not and leave the last good site in place."""
    gc.set_threshold(100_000, 20, 100)  # documents are full of cycles, and nearly all of them stay to the end
    set_environment()
    try:
        with alone():
            build_lesson(*arguments) if arguments else build()
    except BuildError as error:
        print(f"\n{error}\n", file=sys.stderr)
        print("The last good site is untouched." if SITE.exists() else "No site was built.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
