"""Many runs: experiments, searches and what is made of them."""
