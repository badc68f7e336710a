"""What texts say of v1, line by line: the rules that the conversion and the scan share."""
