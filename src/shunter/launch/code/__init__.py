"""How a program's files reach its pods."""
