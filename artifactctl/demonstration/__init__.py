"""The founding story, told on the machine of whoever asks or on another one: `artifactctl demo [--host NAME]`.

`tell_founding_story` makes a stage (a folder of its own, and below it a real volume of 12 TB where that is possible),
puts files on it, and runs the commands a person would type, each as a process of its own with its real output. No
number in it is written down beforehand but the inputs in `scale`; what is said of results is read from the results.

All it makes, reads or removes lies in its folder (with `--host` in two: one on the other machine for the files, one
here for the catalog): it never opens another catalog, another configuration or another file. `stage` and `far_side` say
how these folders go away again, whatever happens.
"""

from artifactctl.demonstration.founding_story import tell_founding_story
from artifactctl.demonstration.interruption import stops_once
from artifactctl.demonstration.stage import Stage, staged, staged_on
from artifactctl.demonstration.storyteller import Storyteller

__all__ = ["Stage", "Storyteller", "staged", "staged_on", "stops_once", "tell_founding_story"]
