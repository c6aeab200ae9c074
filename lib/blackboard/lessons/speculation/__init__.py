"""Lesson: speculative decoding, what it gains and where the gain ends (not in the lecture, which names it at
0:01:50).
"""
