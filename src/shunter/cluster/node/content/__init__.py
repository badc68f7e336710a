"""What a container finds: its image, environment, volumes, and the objects that these refer to."""
