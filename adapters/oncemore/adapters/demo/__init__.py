"""The first recovery, whole, on one machine: a real runtime before a scripted model."""
