"""Values as text.

durations.py    Go durations: `1m30s`; quantity.py: `500m`, `8Gi`; cron.py: schedules
times.py        times in RFC 3339; cidr.py: addresses and blocks of them
go_values.py    values in the words of Go's fmt; counts.py, digits.py: numbers in words; numbers of thousands of digits

Tests: tests/api/formats.
"""
