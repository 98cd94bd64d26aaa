"""What can be seen of a server at work: logs, metrics, traces."""
