"""A phone lays out the sections near its screen alone, so each says about how tall it will be: otherwise the page would
change its height under a reader's finger.
"""

import re
from html import unescape

ARTICLE = '<article class="bd-article'
SECTION = re.compile(r"<(/?)section\b[^>]*>")
UNSEEN = re.compile(r"<(script|noscript|style|annotation)\b.*?</\1>", re.S)
SUMMARY = r"<summary\b(?:(?!</summary>).)*</summary>"
FOLD = re.compile(rf"<details\b(?![^>]* open\b)[^>]*>\s*({SUMMARY})(?:(?!<details\b).)*?</details>", re.S)
RECORDS = re.compile(r'<div class="data-table[^"]* (?:records|source-table)\b.*?</table>', re.S)
CODE = re.compile(r"<pre\b.*?</pre>", re.S)
TAG = re.compile(r"<[^>]+>")
# CSS pixels that each adds at a width of 390, fitted to some 200 sections: half of them are within a tenth.
LETTER, LINE, RECORD = 0.68, 32, 50
BLOCK = re.compile(r"<(?:p|li|h\d|figure|d[dt])\b")
PARTS = {"<img": 140, "<practice-box": 110, "<summary": 35, "<td": 16}


def tell_heights(site):
    """Write them into all pages of a site."""
    for path in site.rglob("*.html"):
        text = path.read_text("utf8")
        if ARTICLE in text:
            path.write_text(mark_sections(text), "utf8")


def mark_sections(text):
    """A page whose sections, those right below its title's, bear their heights."""
    begun, found = [], []
    for tag in SECTION.finditer(text, text.index(ARTICLE)):
        if not tag[1]:
            begun.append(tag.end())
        elif len(begun) == 2:
            found.append((begun.pop(), tag.start()))
        elif begun:
            begun.pop()
    for start, end in reversed(found):
        text = f'{text[: start - 1]} style="--tall: {estimate(text[start:end])}px">{text[start:]}'
    return text


def estimate(section):
    """About how tall a section is on a phone, in pixels; what is folded is not seen."""
    seen, folded = UNSEEN.sub("", section), 1
    while folded:
        seen, folded = FOLD.subn(r"\1", seen)
    records = sum(table.count("<tr") for table in RECORDS.findall(seen))
    lines = sum(code.count("\n") for code in CODE.findall(seen))
    seen = CODE.sub("", RECORDS.sub("", seen))
    letters = len(" ".join(unescape(TAG.sub("", seen)).split()))
    parts = sum(tall * seen.count(part) for part, tall in PARTS.items()) + 15 * len(BLOCK.findall(seen))
    return round(LETTER * letters + LINE * lines + RECORD * records + parts)
