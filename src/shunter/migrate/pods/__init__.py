"""The pods of both generations, made in memory: what an API server makes of objects, what containers see, where pods differ."""
