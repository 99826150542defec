"""What is made of results for people: pictures and pages."""
