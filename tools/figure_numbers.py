"""A Sphinx extension: figures are counted anew on each page, and those of a lesson have its number before theirs: the
third figure of the ninth lesson is 9.3. Sphinx's own way would number every section too.
"""

from yaml import safe_load


def forget_numbers(_app, env, _pages):
    """Sphinx compares its numbers with those of the last build."""
    env.toc_fignumbers = getattr(env, "counted_figures", env.toc_fignumbers)


def number_figures(app, env):
    """Write the numbers of each page, once Sphinx has counted the figures of all; no further page is affected.

    The numbers of the lessons are kept as well: they stand below the lessons' titles.
    """
    env.counted_figures = env.toc_fignumbers
    env.lessons = list_lessons(app)
    env.toc_fignumbers = {
        page: {kind: count(numbers, env.lessons.get(page, ())) for kind, numbers in kinds.items()}
        for page, kinds in env.toc_fignumbers.items()
    }
    return []


def list_lessons(app):
    """{page: (its number,)} of the lessons, which are the chapters with exercises."""
    contents = safe_load((app.srcdir / "_toc.yml").read_text("utf8"))
    chapters = [chapter for part in contents.get("parts", []) for chapter in part["chapters"] if "sections" in chapter]
    return {chapter["file"]: (number,) for number, chapter in enumerate(chapters, 1)}


def count(numbers, before):
    """{figure: its number on the page} in the order that Sphinx has found."""
    return {figure: (*before, place) for place, figure in enumerate(sorted(numbers, key=numbers.get), 1)}


def setup(app):
    """The count comes after that of Sphinx's own collector, which is of priority 500."""
    app.connect("env-before-read-docs", forget_numbers)
    app.connect("env-get-updated", number_figures, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
