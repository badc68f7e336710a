"""Values as text: Go durations, quantities, Cron schedules, addresses, values in the words of Go's fmt, numbers in words."""
