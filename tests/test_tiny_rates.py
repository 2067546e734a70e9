"""The tiny scenario at length: each plan 50 of 50 on the faulty variant, 0 of 50 on its twin and without the plan."""
import pytest

TRIALS = 50


@pytest.mark.full
@pytest.mark.parametrize("bug", ["use-after-free", "use-after-free-asan", "double-free", "double-free-asan", "lost-wakeup",
                                 "order-violation", "order-violation-asan"])
def test_every_trial_shows_the_bug_and_none_shows_it_on_the_twin(holdpoint, bug):
    r = holdpoint.run("tiny", "--plan", bug, "--trials", TRIALS, timeout=1800)
    assert r.rc == 0 and len(r.json["verdicts"]) == 4, r
    for row in r.json["verdicts"]:
        wanted = 0 if row["variant"].startswith("fixed") else TRIALS
        assert (row["trials"], row["exercised"], row["reproduced"]) == (TRIALS, TRIALS, wanted), row


@pytest.mark.full
@pytest.mark.parametrize("bug", ["use-after-free", "double-free", "lost-wakeup", "order-violation"])
def test_without_its_plan_the_bug_does_not_show(holdpoint, record_property, bug):
    r = holdpoint.run("tiny", "--plan", f"bare-{bug}", "--trials", TRIALS, timeout=1800)
    shown = sum(trial["verdict"] != "clean" for trial in r.json["trials"])
    record_property("bare", f"{shown} of {len(r.json['trials'])}")
    assert shown <= len(r.json["trials"]) // 50, r  # near 0: 2 % at most
