"""Rating what an agent wants to do. Pure."""
