"""The math behind how LLMs are trained and served: every equation once, in SymPy with units."""

__version__ = "0.39.0"
