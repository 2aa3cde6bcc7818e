"""What AutoBayes is made of."""
