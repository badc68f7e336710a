"""The API types we serve or read, with their defaults and validation. Values only: nothing here does I/O."""
