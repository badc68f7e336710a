"""The proof that a conversion trains alike: the pods of both sides, rank by rank, and the ladder of checks up to a real run.

admission     what an API server makes of an object on its way in, and what it refuses
pods          v1 job -> pods, TrainJob + runtime -> JobSet -> Jobs -> pods
"""
