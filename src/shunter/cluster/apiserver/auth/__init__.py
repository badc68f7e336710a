"""Who is asking, what they may do, and the tokens of service accounts."""
