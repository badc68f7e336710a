"""Controllers: work queue, workers, plans, their execution, leader election."""
