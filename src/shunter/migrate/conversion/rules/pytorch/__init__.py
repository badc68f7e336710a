"""Rules about PyTorchJobs: how processes are started and find each other.

launcher.py      torchrun, or variables that the program reads: what v2 tells; launcher_topics.py: what is told of it
processes.py     nprocPerNode
elastic.py       elasticPolicy: minReplicas, maxReplicas, maxRestarts, metrics, rdzv
meeting_port.py  MASTER_PORT

Tests: tests/scenarios/migrate/pytorch, tests/migrate/conversion/kinds/test_pytorch.py; processes.py in
tests/migrate/conversion/rules/pytorch.
"""
