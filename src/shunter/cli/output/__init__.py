"""What commands show on a terminal."""
