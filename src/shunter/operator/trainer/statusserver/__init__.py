"""The server that training programs report their progress to: requests in, at most one write per job and second out."""
