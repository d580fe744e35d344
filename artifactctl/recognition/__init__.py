"""What a folder or file is, from its names and headers alone; pure.

`survey` takes the folders of one walk and says which of them are artifacts, which files belong to each, and what is
nobody's. Deciding needs names first and a few bytes second: the caller passes `read(relative, offset, length)`.

What holds everywhere here:
- Nothing is unpickled. A torch file is a zip whose pickle is read opcode by opcode; only the globals of plain tensors
  are understood, and nothing is imported or called (`pickled_tensors`).
- What is not recognised stays nobody's. A file inside an artifact's folder that does not fit its layout is a stray, not
  a member: members are deleted together with their artifact, so belonging is never guessed.
- A torn or unfinished file is recognised and named as such; it never counts as good.
- Memory is bounded by the depth of the tree and the size of one folder, not by the number of files below.

Why not detect by extension alone: `model.safetensors` and a shard of hidden states look the same from outside, and so
do a log and a corpus in JSON lines; the first bytes tell them apart.
"""
