"""Risk ratings of actions before they run. Pure."""
