"""Lesson: a mixture of experts on racks (lecture 0:32-0:47)."""
