"""How fast each kind of backend is said to be, by whom, and what physics allows."""
