"""Runs of jobs: what was seen of one, whether two trained the same, and trial runs of converted jobs.

    job + pods + logs + metric sources --observation--> Run --comparison--> Comparison        all of it pure
    conversion --trial--> objects of a trial run

Only `reading` and `mlflow` talk, to a Kubernetes API server and to a tracking server.
"""
