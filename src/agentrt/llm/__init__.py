"""Model calls, through litellm."""
