"""HTTP/1.1: a client and a server for many small requests."""
