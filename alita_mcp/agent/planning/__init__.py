"""Planner: chooses among candidate plans by recorded outcomes; pure functions without I/O.

How the manager agent uses it:

1. `plans.PLANS_SHAPE` goes into the prompt, `plans.PlansAnswer` into `models.asking.ask`, and
   `plans.plans_from(answer, tools)` makes `Plan` values of what came; `plans.recipe_plan` makes one of a recipe.
2. `choice.choose(plans, records, tried, …)` gives a `Choice`: a plan, or None where others should be asked for.
   `records` maps `posteriors.record_key(step)` to an `OutcomeRecord`; `posteriors.records_of` makes them of
   what memory recalls.
3. Each outcome goes twice: as `choice.Tried` to the next `choose` of the run, and by `posteriors.add_outcome` into the
   records of later runs. A failed step, or a failed check, means `choose` again. After a failed check each
   step of the plan is `Tried` again, with its share of `posteriors.blame` as `doubt`.
"""
