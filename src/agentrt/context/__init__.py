"""From events to what the model sees, and back from its replies. Pure."""
