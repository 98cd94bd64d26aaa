"""The Model Context Protocol: connections to the servers that agents use."""
