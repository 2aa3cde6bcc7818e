"""What is counted by group: exact, mergeable, and able to forget."""
