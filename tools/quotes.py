"""Straight quotes and apostrophes in what cells and problems write become curly, as MyST sets them in the prose."""

import html
import re

from docutils.utils.smartquotes import educateQuotes

# Code, formulas and tags, and a problem's name in brackets, which is code too.
UNTOUCHED = re.compile(r'(<(pre|code|math|script|style|svg|textarea)\b.*?</\2>|<[^>]+>|\w\["[^"<]*"\])', re.S)
ESCAPED = re.compile("&(?:#x27|#39|quot);")
LETTER = re.compile(r"[^\s(\[]")
TEXTS = {"ask", "bands", "constant", "hints", "items", "means", "misfit", "options", "right", "solution", "thousand"}
TEXTS |= {"verdicts", "wants", "wrong"}  # parts of a problem's data that a reader sees


def curl_quotes(text, keep=str):
    """HTML with curly quotes wherever it is not code; `keep` changes these texts further."""
    parts, before = UNTOUCHED.split(text), " "
    for n in range(0, len(parts), 3):  # words, what stays as it is, the name of its element
        parts[n] = ESCAPED.sub(lambda found: html.unescape(found[0]), parts[n])
        if "'" in parts[n] or '"' in parts[n]:
            parts[n] = educateQuotes(before + parts[n])[1:]
        before = LETTER.sub("x", parts[n][-1:]) or before
        parts[n] = keep(parts[n])
        if n + 2 < len(parts):
            before = "x" if parts[n + 2] else before  # after code or a formula as after a word
            parts[n + 2] = ""
    return "".join(parts)


def curl_problem(data, keep=str):
    """The data of problems with curly quotes in what a reader sees, which `keep` changes further."""
    change = lambda text: curl_quotes(text, keep)
    if isinstance(data, dict):
        return {
            name: change_texts(each, change) if name in TEXTS else curl_problem(each, keep)
            for name, each in data.items()
        }
    return [curl_problem(each, keep) for each in data] if isinstance(data, list | tuple) else data


def change_texts(data, change):
    """Data as JSON has it, with all its texts changed."""
    if isinstance(data, dict):
        return {name: change_texts(each, change) for name, each in data.items()}
    if isinstance(data, list | tuple):
        return [change_texts(each, change) for each in data]
    return change(data) if isinstance(data, str) else data
