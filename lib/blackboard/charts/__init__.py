"""How things are drawn: the style and palette, figures, and the kit for interactive charts."""
