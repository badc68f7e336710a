"""The pods of both generations, made in memory by the functions that make them in clusters.

admission, alike        what an API server makes of an object on its way in, and what it refuses
sides                   v1 job -> pods, TrainJob + runtime -> JobSet -> Jobs -> pods
effective, hosts, facts what a pod says, so that two can be compared; facts: when two amounts are equal
differences             pairs of pods, and where they differ
values                  what programs read of their own pod, on both sides
showing                 for people
"""
