"""trainer.kubeflow.org/v1alpha1 types."""
