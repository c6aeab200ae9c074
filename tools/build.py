"""Build the book: run the notebooks, render the pages, then swap the finished site into _build/html.

Run through `python tools/course.py book`, or with the virtual environment's Python.
"""

import contextlib
import os
import shutil
import sys
import time
from pathlib import Path

from notebooks import BUILD, CACHE, ROOT, WORK, BuildError, files_under, hash_of, pages, run_notebooks, settings

SITE = BUILD / "html"
PAGES = WORK / "pages"  # what Sphinx makes
REDIRECT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
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
    runs, dresses = (
        [ROOT / "tools" / f"{name}.py" for name in names]
        for names in (("notebooks", "kernels", "exercises"), ("build", "mending"))
    )
    lock = ROOT / "requirements.lock"
    keep_only(CACHE, hash_of([lock, *runs]))
    dress = [ROOT / "_toc.yml", ROOT / "_config.yml", *files_under("book/_static", "_templates")]
    keep_only(PAGES, hash_of([lock, *runs, *dresses, *dress]))


# --- The pages ---------------------------------------------------------------------------------------------


def vendor():
    """What pages load only when they need it: MathJax and Vega, copied from installed packages."""
    target = PAGES / "extra" / "vendor"
    if target.exists():
        return
    making = PAGES / "vendor.new"
    shutil.rmtree(making, ignore_errors=True)
    copy_mathjax(making / "mathjax")
    (making / "vega.js").write_text(vega_bundle(), "utf8")
    target.parent.mkdir(parents=True, exist_ok=True)
    making.rename(target)


def copy_mathjax(target):
    """The parts of MathJax that _config.yml loads, and its fonts."""
    import importlib.util

    # The package's name has hyphens, so it is found but never imported.
    source = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    loaded = settings()["sphinx"]["config"]["mathjax3_config"]["loader"]["load"]
    parts = [name.replace("[tex]", "input/tex/extensions") + ".js" for name in ["startup", *loaded]]
    for part in [*parts, "output/chtml/fonts"]:
        destination = target / part
        destination.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (source / part).is_dir() else shutil.copyfile)(source / part, destination)


def vega_bundle():
    """Vega, Vega-Lite and Vega-Embed in one script."""
    import vl_convert

    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{\n{script}\n}})();\n"  # written as a module: its hundreds of names stay inside


def sphinx_settings():
    """_config.yml in Sphinx's words, with what only this build knows."""
    from jupyter_book.config import get_final_config

    ours = {
        "latex_individualpages": False,
        "html_extra_path": [str(PAGES / "extra")],
        "nb_execution_cache_path": str(CACHE),
        "nitpicky": True,
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
    if not run_sphinx():
        raise BuildError("The pages were not built: see the warnings above, each of which is an error here.")
    unfinished.unlink()


def run_sphinx():
    """Sphinx, on the processor's cores where it can fork; True when it ended without one warning."""
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
            PAGES / "html",
            PAGES / "doctrees",
            "html",
            confoverrides=sphinx_settings(),
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
        drop_unused_images(app)
        return app.statuscode == 0


def drop_unused_images(app):
    """Remove pictures that no page shows any more: Sphinx leaves them."""
    used = {name for _, name in app.env.images.values()}
    for path in (PAGES / "html" / "_images").glob("*"):
        if path.name not in used:
            path.unlink()


def write_redirect():
    """The site's front door leads to the root page of the table of contents."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    page = f"{parse_toc_yaml(ROOT / '_toc.yml').root.docname}.html"
    (PAGES / "html" / "index.html").write_text(REDIRECT.format(page=page, title=settings()["title"]), "utf8")


def publish():
    """Put the finished site in place of the last one; at every moment there is a whole one or a backup."""
    new, old = BUILD / "html.new", BUILD / "html.old"
    unused = shutil.ignore_patterns("*.map", "fontawesome", "locales", ".buildinfo", "*.pyc")
    for left_over in (new, old):
        shutil.rmtree(left_over, ignore_errors=True)
    shutil.copytree(PAGES / "html", new, ignore=unused)
    # A directory cannot replace a full one in one step on every system, so two renames, the window a millisecond.
    if SITE.exists():
        SITE.rename(old)
    new.rename(SITE)
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
    sys.path.insert(0, str(ROOT / "lib"))  # mending.py takes the problems from it
    os.environ["BLACKBOARD_PAGE"] = "1"  # outputs carry what a static page needs: answer boxes, still pictures
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        os.environ[name] = "http://127.0.0.1:9"  # nothing listens: whatever tries to fetch fails at once


def build():
    """Run, render, publish."""
    start = time.monotonic()
    restore()
    drop_stale()
    ran, notebooks = run_notebooks(pages())
    vendor()
    print("rendering", flush=True)
    render()
    write_redirect()
    publish()
    taken = time.monotonic() - start
    site = SITE.relative_to(ROOT) / "index.html"
    print(f"built {site} in {taken:.1f} s: {ran} notebooks run, {notebooks - ran} taken as they were")


def main():
    """Build, or say why not and leave the last good site in place."""
    set_environment()
    try:
        with alone():
            build()
    except BuildError as error:
        print(f"\n{error}\n", file=sys.stderr)
        print("The last good site is untouched." if SITE.exists() else "No site was built.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
