"""Local pictures of collections: reflector, store, informer."""
