"""Rules about pod templates."""
