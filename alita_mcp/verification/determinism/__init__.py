"""The determinism gate: does the same call give the same result again?"""
