"""Responses: prompts in, one response set out, from any server that speaks OpenAI's chat completions.

| word | meaning |
|---|---|
| prompt key | the SHA-256 of messages, tools and settings: what is still to do goes by it, not by lines |
| settings | model, sampling, longest answer, further fields of the request: equal within one set, or nothing is asked |
| answer | a whole one: it said why it ended, and its stream has its end. Anything less is cut, and asked again |
| lost attempt | one that came to nothing and may have cost tokens all the same: counted against the budget |
| hole | a prompt that was refused, could not be read, or never got a whole answer |

1. The folder is announced: the catalog shows it as `building`, nothing removes it or takes it for complete.
2. Each answer is appended to `responses.jsonl.partial`, a line each, in the order of arrival. A line that a killed run
   left torn is cut off; its prompt is asked again. `journal.ndjson` holds the settings, the runs and the lost attempts.
3. Once every prompt is answered the file gets its name, the manifest is written last, and the artifact is sealed.

A set with holes stays `building` (its label `unanswered` says how many) until the same command fills them, or
`--accept-holes` seals it with the list of them in `unanswered.ndjson`. Why not seal it by itself: whoever merges it
would take silence for an answer. Memory holds a 16-byte key for each prompt and each answer, and the answers in flight.

The key of the server comes from a file or a variable, goes into one header, and nowhere else.
"""
