"""Object stores: where copies go that lie on no machine of ours.

Whatever fsspec reaches can be one; what is tested is S3 (s3fs, in the extra `archive`) and a folder (`file://`).
Credentials come from the environment or the profile that the library reads, never from a URL, and are stored nowhere.
Nothing a store says of itself counts as proof: neither its answer 200 nor an ETag, only bytes that were read back.
"""
