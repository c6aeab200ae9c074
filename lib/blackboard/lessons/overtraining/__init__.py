"""Lesson: training past Chinchilla, because a model is also used (lecture 1:19-1:33)."""
