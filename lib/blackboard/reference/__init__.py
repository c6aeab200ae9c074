"""What the reference pages print: claims, flashcards, glossary, costs. Stands above the lessons; none of them imports
it.
"""
