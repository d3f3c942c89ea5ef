"""In: from the text of each source to the encoded response, in locked memory."""
