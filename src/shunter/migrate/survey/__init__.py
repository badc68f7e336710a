"""What there is of v1, in words and figures: jobs, neighbours, repositories, pages for people."""
