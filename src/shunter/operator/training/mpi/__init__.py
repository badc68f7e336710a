"""What an MPIJob is made of (M1-M12): pods, access rights, a host list, and how they are kept up."""
