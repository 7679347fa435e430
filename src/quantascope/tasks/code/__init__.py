"""Python source code, byte by byte: the standard library of the interpreter that runs this."""
