"""The server that training programs report their progress to (5.1): requests in, at most one write per job and second out."""
