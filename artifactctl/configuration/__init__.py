"""Where the catalog is, who acts, which limits hold: what files, environment and account say, for every entrance.

The command line and `artifactctl.api` read the same files in the same order, so that a job and a person on one machine
mean the same catalog. A flag (or an argument of the api) beats ARTIFACTCTL_* beats the project's file beats the user's.
"""
