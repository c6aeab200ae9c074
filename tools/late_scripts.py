"""Scripts that come once a page is shown: until then they would share the line with its text, letters and pictures."""

import re

DEFERRED = re.compile(r"<script\b[^>]*\bdefer\b[^>]*></script>\s*")
# A tab in the background draws nothing: there they come when all else has.
BEGIN = """<template id="scripts">{scripts}</template>
<script>window.begun = new Promise((begin) => {{
  requestAnimationFrame(() => setTimeout(begin));
  addEventListener("load", begin);
}}).then(() => {{
  const scripts = [...document.getElementById("scripts").content.children];
  return Promise.all(scripts.map((each) => new Promise((next) => {{
    const script = document.importNode(each);
    document.head.append(Object.assign(script, {{ async: false, onload: next, onerror: next }}));
  }})));
}});</script>
"""


def put_off_scripts(site):
    """Let the deferred scripts of every page of a site wait until it is drawn. They run in their order. The page of the
    search needs them before it searches.
    """
    for path in site.rglob("*.html"):
        text = path.read_text("utf8")
        scripts = [found[0].strip() for found in DEFERRED.finditer(text)]
        if scripts and "_static" not in path.parts and path.name != "search.html":
            begun, end, rest = DEFERRED.sub("", text).rpartition("</body>")
            path.write_text(begun + BEGIN.format(scripts="".join(scripts)) + end + rest, "utf8")
