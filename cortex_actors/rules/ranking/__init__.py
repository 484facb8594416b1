"""Which of the hits come first, and what their scores mean."""
