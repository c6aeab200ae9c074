"""Lesson: sparsity and the batch it needs (lecture 0:16-0:32)."""
