"""Where in the user's program something comes from: scope, source line."""
