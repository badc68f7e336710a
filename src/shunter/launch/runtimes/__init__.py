"""TrainingRuntimes of programs: chosen, copied, created, stored."""
