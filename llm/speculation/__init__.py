"""What can be ready before the user has stopped."""
