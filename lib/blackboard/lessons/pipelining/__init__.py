"""Lesson: pipeline parallelism, bubbles and capacity (lecture 0:47-1:19)."""
