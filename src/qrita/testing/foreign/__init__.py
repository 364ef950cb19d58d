"""Implementations that are not ours: what they promise, how they are judged by it, and the process they run in.

`contract` says what an implementation promises, `judging` which answers that allows, `properties` what is tried.
`implementation` calls one, `loading` finds one by name, `worker` runs it in a process that may hang or die.
"""
