"""What people look at: the scoreboard, tables, figures and progress."""
