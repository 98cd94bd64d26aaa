"""What files say to an agent: instructions, skills, agents and plugins, of a project and of its user."""
