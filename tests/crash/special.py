"""Cases with a course of their own."""
CASES = []
