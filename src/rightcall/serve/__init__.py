"""What is offered over HTTP to people and programs."""
