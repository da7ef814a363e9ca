"""What a set of tools costs a model, and what is wrong with the words that it is told of them."""
