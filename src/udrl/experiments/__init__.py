"""Many runs: what is made of them."""
