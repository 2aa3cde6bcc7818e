"""From posteriors to actions: costs, least risk, the error no rule can beat, and priors that moved."""
