"""Lesson: the KV cache in blocks, and prefixes that are computed once (not in the lecture)."""
