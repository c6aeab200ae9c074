"""Lesson: ciphers, reversible networks, and what is worth keeping in memory (lecture 2:04-2:14)."""
