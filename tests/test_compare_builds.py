"""The command that compares two builds names what differs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import compare_builds


def test_a_file_that_is_lacking_or_differs_is_named(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, text in ((one, "1234"), (two, "1235")):
        (folder / "html").mkdir(parents=True)
        (folder / "html" / "same.html").write_text("same")
        (folder / "html" / "other.html").write_text(text)
    assert compare_builds.differences(one, one) == []
    (two / "more.js").touch()
    assert compare_builds.differences(one, two) == [str(Path("html", "other.html")), "more.js"]
