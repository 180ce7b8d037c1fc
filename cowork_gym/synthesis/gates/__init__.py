"""Admission gates: each proves one thing about a task package, and says what to change when it cannot."""
