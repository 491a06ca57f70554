"""What stands on the pages of `hlotool report`: of two programs (`pair`), and their `tables`."""
