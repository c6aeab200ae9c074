"""Lesson: batching, latency and cost (lecture 0:00-0:16 and 0:22-0:27)."""
