"""trainer.kubeflow.org/v1alpha1: TrainJob and runtime to JobSet, a module per plugin."""
