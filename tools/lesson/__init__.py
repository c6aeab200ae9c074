"""Lesson: NAME."""
