"""The page to plan with: formulas printed for the browser, the tables that they need, and the form."""
