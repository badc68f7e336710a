"""Values as text: Go durations, and values in the words of Go's fmt."""
