"""Find a Chromium, which tests, the benchmark, the PDF and the ePub drive."""

import os
import shutil

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NO_CHROMIUM = (
    "no Chromium found. Install one (Debian: apt-get install chromium-headless-shell; Ubuntu: apt-get install "
    "chromium; macOS: brew install --cask chromium; anywhere: python -m playwright install chromium), or name one "
    "in the environment variable CHROMIUM"
)


def find_chromium():
    """Path of a Chromium: the variable CHROMIUM, else what the PATH has; None where there is none. One without windows
    takes two thirds of the time.
    """
    names = [
        "chromium-headless-shell",
        "chrome-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ]
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
