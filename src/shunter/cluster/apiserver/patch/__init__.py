"""The patch formats of the API besides merge patch and server-side apply. Pure functions; inputs are never mutated."""
