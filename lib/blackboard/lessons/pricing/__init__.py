"""Lesson: what API prices say of the machine behind them (lecture 1:33-2:04)."""
