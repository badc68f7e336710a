"""Rules of Jobs and of their status."""
