"""An exported draft in a real SGLang server; `make test-sglang` runs this."""
