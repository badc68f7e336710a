"""What `migrate test` makes and removes, and the trial of a file."""
