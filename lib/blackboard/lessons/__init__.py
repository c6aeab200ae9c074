"""A package for each lesson: its equations, problems, figures, charts and what it runs."""
