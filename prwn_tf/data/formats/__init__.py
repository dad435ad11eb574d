"""Files that hold many images: archives, pickles, arrays; nothing in them is run."""
