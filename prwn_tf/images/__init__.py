"""Image files: headers, decoding, and the turn that their EXIF tag asks for."""
