"""Output for people: the scoreboard, tables, figures and progress."""
