"""Lesson: what a step costs beside multiplying and reading (not in the lecture)."""
