"""A trained model at work on someone's own images: export, classifier, predictions."""
