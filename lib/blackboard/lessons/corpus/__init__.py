"""Lesson: tokens against parameters in small, long-trained models (not in the lecture)."""
