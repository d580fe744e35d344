"""Real training artifacts, small: made with the libraries that make them outside of tests.

Every function takes the folder to write into, makes what is missing, and returns the path of the artifact.
"""
