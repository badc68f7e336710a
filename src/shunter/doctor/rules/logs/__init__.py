"""T: what logs say."""
