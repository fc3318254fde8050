"""What is drawn where; each view is a function of the app and the area it has."""
