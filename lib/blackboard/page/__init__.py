"""What a page shows: derivations, cards, tables, problems and formatted values."""
