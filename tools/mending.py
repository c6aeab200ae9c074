"""A Sphinx extension: mends what Sphinx and the theme write wrongly into a page."""


def mend_roles(body):
    """Entries of a bibliography are items of its list; the role they are given is deprecated."""
    return body.replace('role="doc-biblioentry"', 'role="listitem"')


def note_math(app, page, body):
    """Sphinx looks for mathematics in the text alone; a table that a cell printed may have some too."""
    if r"\(" in body or r"\[" in body:
        app.env.get_domain("math").data["has_equations"][page] = True


def mend_page(app, page, _template, context, _doctree):
    """Mend a page's body before it is put into the template."""
    if "body" in context:
        note_math(app, page, context["body"])
        context["body"] = mend_roles(context["body"])


def setup(app):
    """Called by Sphinx; earlier than its own MathJax, which asks whether a page has mathematics."""
    app.connect("html-page-context", mend_page, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
