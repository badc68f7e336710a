"""What is to be migrated, wherever it comes from."""
