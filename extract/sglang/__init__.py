"""Hidden states out of an unpatched SGLang server, as raw tensors through a local folder.

    server process (scheduler)                      extraction process
    forward pass -> `hook` -> `spool` folder  ->    `receiving` -> `engine` -> the runner's shards
                                 POST /generate <-  `client`

SGLang registers what `--forward-hooks` names as a plain forward hook of the module that it names
(sglang 0.5.23, srt/model_executor/hook_manager.py), after graph capture, since a replayed graph runs no hooks
(model_runner_components/cuda_graph_setup.py). `hook` is that hook: it has the states of a whole batch on the device
and its requests by id, and writes one checksummed file a request. A reply over HTTP has them as JSON instead, about
six times the bytes, and never the final state: `--via http` is for servers that cannot load the hook.

What the two sides hold to:
1. A file gets its name by one rename when all of it is written: a name is a whole record, or a refusal with its reason.
2. The folder never exceeds its limit. The hook waits for room, never longer than it was told, then refuses the record.
3. The extraction process does not ask for more than the folder holds, so that 2 is only ever met when it is stopped.
4. A reply whose record is not there is a lost record, and asked for again. Nothing is taken for granted from a reply.
5. One extraction process reads a folder. What an earlier one left there is removed when the next begins.

Nothing is synced: the folder is a passage, best on tmpfs; what a crash of the machine takes is computed again.

`hook` and `spool` are imported by the server: they need torch and the standard library, and nothing else of this
program (`tests/extract/sglang` imports them in a bare interpreter).
"""
