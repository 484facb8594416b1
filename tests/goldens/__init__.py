"""Records of what the product did before it was restructured."""
