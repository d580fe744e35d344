"""The probe over a wire: `channel` is what carries the bytes, whatever they travel through."""
