"""In: from dotenv text on standard input to the encoded response, in locked memory."""
