"""Join the style sheets that all pages load into one, so that a page shows after one request for them, not twelve."""

import hashlib
import re

LINK = re.compile(r'<link\b[^>]*href="(?P<up>[^"?]*)_static/(?P<name>(?!planner/|all-)[^"?]+\.css)[^"]*"[^>]*>\s*')
IMPORT = re.compile(r'@import "\.\./([\w.-]+)";')
CHARSET = re.compile(r'@charset "[^"]*";')


def join_styles(site):
    """Join them in every page of a site; what only one page loads stays alone."""
    for page in [path for path in site.rglob("*.html") if "_static" not in path.parts]:
        text = page.read_text("utf8")
        head, body = text.partition("</head>")[::2]
        if links := list(LINK.finditer(head)):
            name = write_joined(site / "_static", [link["name"] for link in links])
            one = f'<link rel="stylesheet" href="{links[0]["up"]}_static/{name}">\n'
            start = links[0].start()
            page.write_text(f"{head[:start]}{one}{LINK.sub('', head[start:])}</head>{body}", "utf8")


def write_joined(static, names):
    """The name of one sheet with all these in it, which lies beside the fonts and pictures that they name."""
    texts = [(static / name).read_text("utf8") for name in names]
    whole = [IMPORT.sub(lambda found: (static / found[1]).read_text("utf8"), text) for text in texts]
    joined = '@charset "UTF-8";\n' + CHARSET.sub("", "\n".join(whole))
    target = static / f"all-{hashlib.sha256(joined.encode()).hexdigest()[:10]}.css"
    if not target.exists():
        target.write_text(joined, "utf8")
    return target.name
