"""What recognition says about real files."""
