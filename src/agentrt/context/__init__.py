"""What the model sees, made from events; and events, made from its replies. Pure."""
