"""Rules about PyTorchJobs: how processes are started and find each other.

launcher.py         torchrun, or variables that the program reads; launcher_topics.py: the findings about them
processes.py        nprocPerNode
elastic.py          elasticPolicy: minReplicas, maxReplicas, maxRestarts, metrics, rdzv; which PET_ variables of v1 remain
rendezvous_port.py  MASTER_PORT
master_first.py     what the Master does before Workers start in v1

Tests: tests/scenarios/migrate/pytorch, tests/migrate/conversion/kinds/test_pytorch.py; processes.py and master_first.py in
tests/migrate/conversion/rules/pytorch.
"""
