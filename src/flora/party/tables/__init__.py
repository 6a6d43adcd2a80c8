"""A party's table: from a file or a database, as people write them, to columns that all parties agree on."""
