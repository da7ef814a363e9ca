"""Any client in front of any model: four dialects served at one address."""
