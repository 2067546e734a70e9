"""Deliberately wrong engines. Each is a small change to a copy of the sources and the rule's test that must fail
on it. A change that no longer finds its place in the source is itself a failure: bring it up to date."""
from dataclasses import dataclass, field

STEPS, STEPS_H, ENGINE, PROCESS = "harness/board/steps.c", "harness/board/steps.h", "shims/engine.c", "shims/process.c"
STEP_RULES = "harness/board/steps.h"
MATCH, THREAD, WATCH = "shims/match.c", "shims/hook_thread.c", "harness/watch.c"
PROOF, VERDICT = "harness/proof.c", "harness/verdict.c"
BLOCKED, WAITS, CYCLE = "harness/blocked.c", "harness/waits.c", "harness/cycle.c"
TABLE, RESULTS = "shims/lock_table.c", "harness/results.c"
COND, MISUSE, LOCKS = "shims/hook_cond.c", "shims/lock_misuse.c", "tests/test_locks.py"
RULES, FAULTS, VERDICTS = "tests/test_steps.py", "tests/test_faults.py", "tests/test_verdicts.py"
SWEEPS = "tests/test_sweeps.py"
CONN, DESCRIPTORS, CONNECTIONS = "shims/hook_conn.c", "shims/descriptors.c", "tests/test_conn.py"
RANGES, CALLERS = "shims/code_ranges.c", "tests/test_callers.py"
EXIT, THREADS = "shims/hook_thread_exit.c", "tests/test_threads.py"
GUARD, FAULT_SIGNALS, HEAP_CALLS, HEAP = "shims/heap_guard.c", "shims/fault_signals.c", "shims/heap_calls.c", "tests/test_heap.py"


@dataclass
class Wrong:
    name: str     # what is wrong with it
    file: str
    edits: list   # (text as it stands in the file, text instead), each found exactly once; blanks and newlines alike
    caught_by: str  # file::test
    also: dict = field(default_factory=dict)  # more files to change: {file: edits}


WRONG = [
    Wrong("marks latch: an early arrival counts later", STEPS, [
        ("if (claim == BOARD_NONE || !atomic_load(&s->claim[claim].standing))\n            return;",
         "if (claim == BOARD_NONE) {\n            if (!atomic_load(&s->point[b->step[i].point].early))\n"
         "                return;\n            complete(b, s, i, 1, 1, now);\n            continue;\n        }\n"
         "        if (!atomic_load(&s->claim[claim].standing))\n            return;")],
        f"{RULES}::test_step_05_a_mark_never_holds_and_an_early_arrival_does_not_count"),
    Wrong("any order: a mark is done before the steps in front of it", STEPS, [
        ("b->step[i].point == point &&", "(b->step[i].point == point || (i = i + 1) < b->n_steps) &&"),
        ("uint64_t expected = i; /* running */", "uint64_t expected = atomic_load(&s->state);")],
        f"{RULES}::test_step_01_strictly_in_the_order_of_the_file"),
    Wrong("a claimed gate is claimed again", ENGINE, [
        ("if (!owner && a->claim == BOARD_NONE && steps_claim(s, claim, me, n, steps_now())) {",
         "if (a->claim == BOARD_NONE && (atomic_store(&s->claim[claim].owner, me), true)) {")],
        f"{RULES}::test_step_04_first_arrival_claims_and_is_held_before_its_turn_and_others_go_through"),
    Wrong("a claimant is released before its pass", STEPS, [
        ("return passed(b, s, claim) ||", "return passed(b, s, claim) || atomic_load(&s->claim[claim].standing) ||")],
        f"{RULES}::test_step_06_reach_of_a_gate_is_done_by_a_claimant_that_stood_there_before"),
    Wrong("steps go on being done after a timeout", STEPS, [
        ("uint64_t expected = i; /* running */", "uint64_t expected = (atomic_load(&s->state) & ~(uint64_t)UINT32_MAX) | i;"),
        ("if (board_seq_end(state) != SEQ_RUNNING || i >= b->n_steps)", "if (i >= b->n_steps)"),
        ("if (board_seq_end(state) == SEQ_RUNNING && i < b->n_steps &&", "if (i < b->n_steps &&"),
        ("(uint64_t)i + 1))", "expected + 1))")],
        f"{RULES}::test_step_14_no_later_step_is_done_after_a_timeout"),
    Wrong("a timeout counts as a pass", STEPS, [
        ("bool steps_end(const struct board *b, struct board_seq *s, enum seq_end why, const char *detail,\n"
         "               uint64_t now) {\n",
         "bool steps_end(const struct board *b, struct board_seq *s, enum seq_end why, const char *detail,\n"
         "               uint64_t now) {\n    if (why == SEQ_TIMEOUT) {\n"
         "        complete(b, s, board_seq_next(atomic_load(&s->state)), 1, 1, now);\n        return true;\n    }\n")],
        f"{RULES}::test_step_13_a_hold_ends_by_timeout"),
    Wrong("gates stay closed after a timeout", ENGINE, [
        ("if (board_seq_end(atomic_load(&s->state)) != SEQ_RUNNING || claim == BOARD_NONE)", "if (claim == BOARD_NONE)"),
        ("if (steps_released(process->board, s, claim) || stopping())", "if (stopping())")],
        f"{RULES}::test_step_14_after_a_timeout_all_gates_open"),
    Wrong("points are never disarmed", STEP_RULES, [
        ("return p->in_fault || !p->in_steps || next <= (uint32_t)p->disarm_after;", "return true;")],
        f"{RULES}::test_step_03_armed_after_a_step_and_disarmed_after_the_last"),
    Wrong("after: is not looked at", STEP_RULES, [
        ("if (p->arm_after >= 0 && next <= (uint32_t)p->arm_after)", "if (p->arm_after >= 0 && next > UINT32_MAX - 1)")],
        f"{RULES}::test_step_03_armed_after_a_step_and_disarmed_after_the_last"),
    Wrong("bystanders are held", ENGINE, [
        ("if (p->crowd_hold && atomic_load(&s->claim[claim].owner))\n            a->crowd_claim = claim;", "a->crowd_claim = claim;")],
        f"{RULES}::test_step_04_first_arrival_claims_and_is_held_before_its_turn_and_others_go_through"),
    Wrong("a crowd is let through", ENGINE, [
        ("if (p->crowd_hold && atomic_load(&s->claim[claim].owner))\n            a->crowd_claim = claim;", "")],
        f"{RULES}::test_step_04_crowd_hold_keeps_the_others_until_the_same_pass"),
    Wrong("who loses the race for a claim is no crowd", ENGINE, [
        ("if (p->crowd_hold && atomic_load(&s->claim[claim].owner))", "if (p->crowd_hold && owner)"),
        ("board_party owner = atomic_load(&s->claim[claim].owner);",  # and the race is one that somebody loses
         "board_party owner = atomic_load(&s->claim[claim].owner);\n    nanosleep(&(struct timespec){0, 20000000}, NULL);")],
        f"{RULES}::test_step_04_crowd_hold_keeps_the_others_until_the_same_pass"),
    Wrong("same: is not looked at", ENGINE, [
        ("if (p->same && previous != BOARD_NONE &&", "if (p->same && previous == 0xfffe &&")],
        f"{RULES}::test_step_08_same_is_the_next_claim_by_the_same_thread"),
    Wrong("nth of a role counts every thread", ENGINE, [
        ("if (p->role != BOARD_NONE || p->within != BOARD_NONE) {", "if (p->within != BOARD_NONE) {"),
        ("(s && !steps_armed(b, s, i)) || !has_role(p->role) ||", "(s && !steps_armed(b, s, i)) ||"),
        ("if (p->nth && n != p->nth)\n        return;\n    if (p->side", "if (!has_role(p->role) || (p->nth && n != p->nth))\n"
         "        return;\n    if (p->side")],
        f"{RULES}::test_step_09_nth_of_a_role_counts_that_threads_arrivals",
        {"shims/idle.c": [("steps_armed_at(p, next) && !is_someone_elses(p->role);", "steps_armed_at(p, next);")]}),
    Wrong("nth within a call goes on counting at the next entry", ENGINE, [
        ("epoch = epoch << 20 | (t->inside[p->within].entry & 0xfffff);", "epoch = epoch << 20;")],
        f"{RULES}::test_step_09_nth_within_counts_afresh_at_each_entry"),
    Wrong("within is not looked at", MATCH, [
        ("return sp < t->inside[point].sp;", "return sp < t->inside[point].sp || sp > 1;")],
        f"{RULES}::test_step_10_within_is_from_entry_to_return_on_that_thread"),
    Wrong("within does not end with the return", ENGINE, [
        ("            t->inside[i].sp = 0;\n", "            t->inside[i].sp = UINTPTR_MAX;\n")],
        f"{RULES}::test_step_10_within_is_from_entry_to_return_on_that_thread"),
    Wrong("a role is bound again by a later arrival", ENGINE, [
        ("atomic_load_explicit(&process->seq->role[r], memory_order_relaxed) ||\n            !match_filters",
         "!match_filters"),
        ("if (atomic_compare_exchange_strong(&process->seq->role[r], &nobody, me))",
         "if (!nobody && atomic_exchange(&process->seq->role[r], me) != me)")],
        f"{RULES}::test_step_11_a_role_is_bound_once_by_the_first_arrival"),
    Wrong("a role is free again when its thread ends", ENGINE, [
        ("atomic_compare_exchange_strong(&process->seq->role[r], &expected, BOARD_ROLE_GONE)",
         "atomic_compare_exchange_strong(&process->seq->role[r], &expected, 0)")],
        f"{RULES}::test_step_11_a_role_is_gone_when_its_thread_ends"),
    Wrong("a fork child inherits what its parent was", PROCESS, [("MADV_WIPEONFORK", "MADV_NORMAL")],
          f"{RULES}::test_step_12_a_fork_child_claims_nothing"),
    Wrong("a lost claimant is not noticed", WATCH, [
        ("if (!why || !claim_is_held(w, s, c))", "if (!why || why[0])")],
        f"{RULES}::test_step_12_a_claimant_that_ends_or_execs_makes_its_step_lost"),
    Wrong("the timeout runs on while steps are done", ENGINE, [
        ("(progress > since ? progress : since)", "(progress > since ? since : since)")],
        f"{RULES}::test_step_13_the_timeout_counts_from_the_last_step"),
    Wrong("arrivals in signal handlers are held", ENGINE, [
        ("if ((!owner || p->crowd_hold) && unwind_in_signal_handler()) {", "if ((!owner || p->crowd_hold) && !me) {")],
        f"{RULES}::test_step_15_an_arrival_in_a_signal_handler_is_counted_and_never_held"),
    Wrong("a busy thread counts as asleep", WATCH, [
        ("thread.state == 'S' &&", "thread.state &&"), ("l->switches == looked.switches &&\n", "1 &&\n")],
        f"{RULES}::test_step_02_a_busy_thread_is_not_asleep"),
    Wrong("side: return is taken at the entry", ENGINE, [
        ("unsigned side = p->side == SIDE_ASLEEP ? SIDE_ENTER : p->side;", "unsigned side = SIDE_ENTER;")],
        f"{RULES}::test_step_02_side_return_holds_after_the_call"),
    Wrong("prob ignores its seed", ENGINE, [
        ("uint64_t key = f->seed + ", "uint64_t key = ")], f"{FAULTS}::test_prob_is_decided_by_the_seed_alone"),
    Wrong("clean without a live detector", PROOF, [("check_detectors(e, &p->errors);", "(void)check_detectors;")],
          f"{VERDICTS}::test_verdict_02_a_detector_that_is_not_alive_is_an_error"),
    Wrong("clean without every step", PROOF, [("check_steps(e->board, &p->missing);", "(void)check_steps;")],
          f"{VERDICTS}::test_verdict_01_not_exercised_comes_before_clean"),
    Wrong("clean without every fault", PROOF, [("check_unfired(e->board, &p->missing);", "(void)check_unfired;")],
          f"{VERDICTS}::test_verdict_02_a_fault_that_never_fires_is_not_exercised"),
    Wrong("clean without every rank", PROOF, [("check_ranks(e, &p->missing);", "(void)check_ranks;")],
          f"{VERDICTS}::test_verdict_02_a_rank_that_never_checked_in_is_not_exercised"),
    Wrong("clean although a hold ended by its limit", PROOF, [("check_holds(e->board, &p->missing);", "(void)check_holds;")],
          f"{FAULTS}::test_hold_that_ended_by_timeout_is_not_exercised"),
    Wrong("reproduced by a finding that came before the plan began", VERDICT, [
        ("(!f->before_plan && finding_is_expected(e, f))", "finding_is_expected(e, f)")],
        f"{VERDICTS}::test_verdict_01_a_finding_before_the_plan_began_is_another_finding"),
    Wrong("a timeout is called blocked", WATCH, [
        ("!blocked_find(&w->waits, s, &found, detail, sizeof detail))",
         "!(blocked_find(&w->waits, s, &found, detail, sizeof detail) ||\n"
         "          steps_now() > atomic_load(&s->progress_ns) + w->b->timeout_ns / 2))"),
        ("evidence_blocked(w->b, &found, detail);", "strcpy(detail, \"waits\");")],
        f"{LOCKS}::test_step_13_a_mere_timeout_is_not_blocked"),
    Wrong("whoever waits for any lock is called blocked", BLOCKED, [
        ("point == BOARD_NONE && follow(q, owner, others + 1)", "point == BOARD_NONE && others > MOST_OTHERS"),
        ("        if (point == BOARD_NONE)\n            continue;\n", "")],
        f"{LOCKS}::test_step_13_a_thread_that_owns_the_lock_but_is_not_held_blocks_nothing"),
    Wrong("blocked only directly", BLOCKED, [("others > MOST_OTHERS", "others > 0")],
          f"{LOCKS}::test_step_13_blocked_through_other_threads"),
    Wrong("a lock with a time limit blocks", WAITS, [("return !timed && is_asleep", "return is_asleep")],
          f"{LOCKS}::test_step_13_a_mere_timeout_is_not_blocked"),
    Wrong("whoever is in the table and waits makes a process at rest", CYCLE, [
        ("!waits_for(r->w, t, AT_REST_NS, &wait))\n        return false;", "!waits_for(r->w, t, AT_REST_NS, &wait))\n        return true;")],
        f"{LOCKS}::test_a_condition_that_somebody_could_still_signal_is_no_deadlock"),
    Wrong("a condition with a time limit is waited for forever", WAITS, [("return !timed && is_asleep", "return is_asleep")],
          f"{LOCKS}::test_a_condition_wait_that_gives_up_is_no_deadlock"),
    Wrong("another process's signals are nobody's", COND, [("if (is_shared(w->call.object))", "if (is_shared(w->call.object) && !w)")],
          f"{LOCKS}::test_a_condition_that_another_process_can_signal_is_no_deadlock"),
    Wrong("who signalled a condition is not remembered", TABLE, [
        ("if (atomic_compare_exchange_strong(&e->signalled[i], &nothing, address))", "if (nothing == address)")],
        f"{LOCKS}::test_two_conditions_each_signalled_by_the_other_thread_are_a_deadlock"),
    Wrong("a destroyed condition's signallers are the new one's", COND, [
        ("lock_table_condition_ends(condition);", "(void)condition;")],
        f"{LOCKS}::test_a_condition_whose_signallers_are_stuck_is_a_deadlock"),
    Wrong("a condition wait keeps its mutex", TABLE, [("c->released = h && h->depth == 1;", "c->released = false;")],
          f"{LOCKS}::test_a_condition_wait_takes_its_mutex_again"),
    Wrong("a condition wait does not take its mutex again", TABLE, [
        ("if (c->released && mutex_is_back)", "if (c->released && !mutex_is_back)")],
        f"{LOCKS}::test_a_condition_wait_takes_its_mutex_again"),
    Wrong("closed by a fix although nothing was reproduced on faulty", RESULTS, [
        ("if (baseline_reproduced(rs, row))", "if (row || baseline_reproduced(rs, row))")],
        f"{LOCKS}::test_verdict_03_closed_by_fix_needs_the_bug_on_faulty_in_the_same_run"),
    Wrong("closed by a fix although the time was over", RESULTS, [
        ("blocked += step && trial[i].blocked_step == step;", "blocked += step > 0;")],
        f"{LOCKS}::test_verdict_03_only_the_step_named_and_never_a_timeout"),
    Wrong("a new rwlock in the memory of a destroyed one is taken for it", MISUSE, [
        ("->__data.__pad3 == DESTROYED_RWLOCK &&\n               destroyed_entry(lock);", "->__data.__readers == 0 &&\n"
         "               destroyed_entry(lock);")],
        f"{LOCKS}::test_locks_finds_the_misuse_and_not_its_correct_twin"),
    Wrong("what did not fire in a sweep counts as clean", RESULTS, [
        ("bool counts = !swept || sweep_counts(&trial[i]);", "bool counts = true;"),
        ("c.by_verdict[trial[i].verdict] +=", "c.by_verdict[swept && !trial[i].fired ? VERDICT_CLEAN : trial[i].verdict] +=")],
        f"{SWEEPS}::test_verdict_05_none_fired_is_not_exercised"),
    Wrong("what did not fire in a sweep decides", RESULTS, [
        ("bool counts = !swept || sweep_counts(&trial[i]);", "bool counts = true;")],
        f"{SWEEPS}::test_verdict_05_what_did_not_fire_decides_nothing"),
    Wrong("a freed block stays open", GUARD, [
        ("protect(place_of(b), stride - PAGE, PROT_NONE))", "protect(place_of(b), stride - PAGE, PROT_READ | PROT_WRITE))")],
        f"{HEAP}::test_a_use_after_free_is_found_with_three_stacks_and_the_program_goes_on"),
    Wrong("the last freed block is used again first", GUARD, [
        ("if (quarantine_is_large() && quarantine_take(&quarantine, &i))", "if (quarantine_take(&quarantine, &i))")],
        f"{HEAP}::test_a_freed_block_stays_closed_while_there_is_other_room"),
    Wrong("a second free is a first one", GUARD, [
        ("if ((uintptr_t)p != b->start || !atomic_compare_exchange_strong(&b->state, &was, BEING_FREED)) {",
         "if ((uintptr_t)p != b->start || (atomic_store(&b->state, (was = BEING_FREED)), false)) {")],
        f"{HEAP}::test_a_second_free_is_named_with_both_and_swallowed"),
    Wrong("a guard that guarded nothing is proof", PROOF, [("if (!looked)\n        return;", "if (slots != UINT32_MAX)\n        return;")],
        f"{HEAP}::test_a_guard_that_guarded_nothing_is_not_exercised"),
    Wrong("blocks that another module frees are its allocator's", HEAP_CALLS, [
        ("is_guarded(s) ? &named[f].in_guarded_module : &named[f].in_between;",
         "is_guarded(s) ? &named[f].in_guarded_module : &none;")],
        f"{HEAP}::test_the_forms_of_allocation_hold_what_they_promise"),
    Wrong("the heap is guarded under a sanitizer too", PROCESS, [("if (dlsym(RTLD_DEFAULT, runtime[i]))", "if (!runtime[i])")],
        f"{HEAP}::test_under_a_sanitizer_the_heap_is_its_own"),
    Wrong("the kernel gets the program's mask", FAULT_SIGNALS, [
        ("if (how != SIG_UNBLOCK)\n            *word_of(&kept) &= ~words_for(ALL_OWNED);", "")],
        f"{HEAP}::test_a_thread_that_blocks_the_signals_is_guarded_and_sees_its_own_mask"),
    Wrong("the masks of the program's handlers go to the kernel", FAULT_SIGNALS, [
        ("*word_of(&stripped.sa_mask) &= ~words_for(ALL_OWNED);", "")],
        f"{HEAP}::test_a_handler_of_another_signal_that_blocks_all_is_guarded"),
    Wrong("a fault of the program's own is not its handler's", FAULT_SIGNALS, [
        ("if (!is_function(&a) || (blocked & (1u << i))) {", "if (is_function(&a) || (blocked & (1u << i))) {")],
        f"{HEAP}::test_the_programs_own_handler_gets_what_is_not_ours_as_it_would_have"),
    Wrong("every handler runs on the alternate stack", FAULT_SIGNALS, [("(plain_stack ? 0 : SA_ONSTACK)", "(plain_stack ? SA_ONSTACK : SA_ONSTACK)")],
        f"{HEAP}::test_the_programs_own_handler_gets_what_is_not_ours_as_it_would_have"),
    Wrong("a system call that fails at a closed page stays failed", "shims/hook_conn.c", [
        ("while ((result) < 0 && errno == EFAULT && (opens))", "while (0)")],
        f"{HEAP}::test_a_system_call_on_a_closed_page_is_found_and_answers_as_it_would_have"),
    Wrong("a new lock inherits the blame of the freed one", TABLE, [
        ("bool again = h && !atomic_load_explicit(&h->freed, memory_order_relaxed);", "bool again = h != NULL;")],
        f"{LOCKS}::test_locks_blames_no_new_lock_in_the_memory_of_a_freed_one"),
    Wrong("functions of a library that is gone stay where they were", RANGES, [
        ("if (block[i].low < o->high && o->low < block[i].high)", "if (block[i].low > o->high && o->low > block[i].high)")],
        f"{CALLERS}::test_a_library_that_comes_and_goes_keeps_its_functions"),
    Wrong("a clone is another function", RANGES, [("if (!symbol[bytes] || bytes >= sizeof name)", "if (bytes)")],
        f"{CALLERS}::test_callers_are_known_by_local_symbols_also_of_clones"),
    Wrong("a stack is one caller", MATCH, [("enum { DEPTH = 16 };", "enum { DEPTH = 1 };")],
        f"{CALLERS}::test_callers_are_known_by_local_symbols_also_of_clones"),
    Wrong("a filter that matches nothing goes without saying", PROOF, [
        ("if (!atomic_load(&n->wanted) || atomic_load(&n->functions))", "if (n)")],
        f"{CALLERS}::test_a_filter_that_matches_nothing_is_not_exercised_and_says_why"),
    Wrong("an EDEADLK is remembered for ever", MISUSE, [
        ("if (r)\n        r->lock = NULL;\n}", "(void)r;\n}")],
        f"{LOCKS}::test_locks_blames_the_refusal_only_until_the_next_acquisition"),
    Wrong("an EDEADLK is blamed whoever handles it", MISUSE, [
        ("if (!mine && reported_refused(lock, kind))", "if (refused_entry(lock) && (reported_refused(lock, LOCK_SPIN), true))")],
        f"{LOCKS}::test_locks_finds_the_misuse_and_not_its_correct_twin"),
    Wrong("a thread's roles end with its start routine", THREAD, [
        ("thread_exit_begins((void *(*)(void *))(uintptr_t)routine);",
         "thread_exit_begins((void *(*)(void *))(uintptr_t)routine);\n    engine_thread_ends();")],
        f"{THREADS}::test_a_role_outlives_the_routine_and_ends_with_the_last_destructor"),
    Wrong("the exit of a thread is over after the first round of destructors", EXIT, [
        ("if (exiting.rounds == PTHREAD_DESTRUCTOR_ITERATIONS &&", "if (exiting.rounds >= 1 &&")],
        f"{THREADS}::test_each_destructor_arrives_and_the_exit_lasts_until_the_last"),
    Wrong("what follows in the last round is after the exit", EXIT, [
        ("!exiting.is_over && !more_follow(key))", "!exiting.is_over && (more_follow(key), true))")],
        f"{THREADS}::test_the_exit_lasts_through_the_last_round_of_destructors"),
    Wrong("a wrapped destructor keeps no library loaded", EXIT, [
        ("get___cxa_thread_atexit_impl()(destroy_registered, r, dso);", "get___cxa_thread_atexit_impl()(destroy_registered, r, NULL);")],
        f"{THREADS}::test_a_library_stays_until_its_pending_destructor_has_run"),
    Wrong("threads whose start was not seen never end", "shims/thread.c", [("thread_exit_prepare();", "")],
        f"{THREADS}::test_threads_whose_start_nobody_saw_end_as_well"),
    Wrong("a name for a call is about its first argument", "shims/call.c", [("r->argument[about - 1]", "r->argument[0]")],
        f"{THREADS}::test_trees_tell_of_each_insertion_and_erasure_by_their_map"),
    Wrong("a thread that was cancelled in a call stays within it", CONN, [("    if (c->at)\n        engine_left(&c->a);", "")],
          f"{CONNECTIONS}::test_a_thread_that_is_cancelled_in_a_call_is_not_within_it_any_more"),
    Wrong("a stream that is cut is cut again by every call", CONN, [
        ("bool goes_on = flows && !(atomic_load(&c->at->severed) & direction);", "bool goes_on = flows;")],
        f"{CONNECTIONS}::test_a_cut_is_one_fault_however_often_the_program_tries_again"),
    Wrong("a look ahead moves the stream", CONN, [("if (c->at && !(c->flags & MSG_PEEK)) {", "if (c->at) {")],
          f"{CONNECTIONS}::test_a_look_ahead_moves_no_stream_and_sees_nothing_behind_the_cut"),
    Wrong("a broken pipe is signalled to who asked for none", CONN, [("!(c->flags & MSG_NOSIGNAL) && ", "")],
          f"{CONNECTIONS}::test_a_broken_pipe_by_fault_raises_sigpipe_unless_it_is_asked_not_to"),
    Wrong("a teardown lasts beyond the close", DESCRIPTORS, [("atomic_fetch_add(&table[fd].teardown, 1);", "")],
          f"{CONNECTIONS}::test_a_teardown_is_from_shutdown_to_close_of_one_descriptor"),
    Wrong("a dup is a stranger", DESCRIPTORS, [("return inode | KEY_SOCKET;", "return (inode | KEY_SOCKET) + ((uint64_t)fd << 32);")],
          f"{CONNECTIONS}::test_a_dup_shares_the_stream_of_its_twin_also_when_that_is_closed"),
    Wrong("events are cut like bytes", CONN, [
        ("type == CONNECTION_PIPE;\n    bool goes_on", "type == CONNECTION_PIPE || type == CONNECTION_EVENTFD;\n    bool goes_on")],
        f"{CONNECTIONS}::test_events_are_no_stream"),
    Wrong("a bracket is over when the call that opened it returns", ENGINE, [
        ("t->inside[i].sp = a->extent ? 0 : a->sp;", "t->inside[i].sp = a->sp;"), ("t->inside[i].extent = a->extent;", "t->inside[i].extent = NULL;")],
        f"{CONNECTIONS}::test_a_teardown_is_from_shutdown_to_close_of_one_descriptor"),
    Wrong("nth within a bracket goes on counting in the next one", ENGINE, [("t->inside[i].entry++;", "t->inside[i].entry += !a->extent;")],
        f"{CONNECTIONS}::test_a_teardown_is_from_shutdown_to_close_of_one_descriptor"),
    Wrong("a teardown that another thread closes goes on for who opened it", MATCH, [
        ("if (t->inside[point].extent && atomic_load(t->inside[point].extent) == t->inside[point].generation)", "if (t->inside[point].extent)")],
        f"{CONNECTIONS}::test_a_teardown_is_from_shutdown_to_close_of_one_descriptor"),
    Wrong("an object is compared with all that the other point ever saw", MATCH, [
        ("return last && a->object && (last == a->object) != p->object_differs;",
         "return last && a->object && (object_seen[p->object_of] >> (a->object & 63) & 1) != p->object_differs;"),
        ("void match_saw_object(uint16_t point, uint64_t object) {",
         "void match_saw_object(uint16_t point, uint64_t object) {\n    object_seen[point] |= (uint64_t)1 << (object & 63);"),
        ("static _Atomic uint64_t last_object[BOARD_MAX_POINTS];", "static _Atomic uint64_t last_object[BOARD_MAX_POINTS], object_seen[BOARD_MAX_POINTS];")],
        f"{CONNECTIONS}::test_an_object_is_compared_with_the_last_one_wherever_that_point_stands_in_the_plan"),
    Wrong("an object is compared in the order of the file", ENGINE, [("if (comparisons_of(b, i) == comparisons)", "if (comparisons == 0 && comparisons_of(b, i) < 64)")],
        f"{CONNECTIONS}::test_an_object_is_compared_with_the_last_one_wherever_that_point_stands_in_the_plan"),
    Wrong("a stream is cut a byte late", ENGINE, [("a->limit = at - a->position;", "a->limit = at - a->position + 1;")],
        f"{CONNECTIONS}::test_a_stream_is_cut_at_a_byte_whoever_writes"),
    Wrong("a call is short although nothing was kept back", ENGINE, [("a->shortens & BIT(i) && bytes == most", "a->shortens & BIT(i)")],
        f"{CONNECTIONS}::test_a_call_is_short_only_when_something_was_kept_back"),
    Wrong("calls that had no more to move count as arrivals of a short fault", ENGINE, [("atomic_fetch_sub(&fault_arrivals[i], 1);", "(void)0;")],
          f"{CONNECTIONS}::test_a_call_is_short_only_when_something_was_kept_back"),
    Wrong("a message is cut in two", CONN, [("if (c->a.limit < *n && !has_messages(c->at))", "if (c->a.limit < *n)")],
        f"{CONNECTIONS}::test_messages_are_never_cut_in_two"),
    Wrong("numbers that close_range gives back are forgotten when somebody else has them", "shims/hook_descriptor.c", [
        ("will_close(from, to);\n    return close_range_original(from, to, flags);",
         "(void)0;\n    int result = close_range_original(from, to, flags);\n    usleep(100);\n    will_close(from, to);\n    return result;")],
        f"{CONNECTIONS}::test_each_connection_is_a_new_one_whoever_had_its_number_before"),
    Wrong("the first bracket ends those that began in it", ENGINE, [("enter_another(i, a);\n            continue;", "continue;")],
          f"{CONNECTIONS}::test_a_teardown_is_from_shutdown_to_close_of_one_descriptor"),
    Wrong("what the owner of a dead frame stored there itself is the callback's", "shims/frames.c", [("|| switches != e->switches)", ")")],
        "tests/test_frames.py::test_whose_store_into_the_dead_frame_it_was"),
    Wrong("a sanitizer's destructors are arrivals", EXIT, [("return o && object_stands_between(o, (uintptr_t)run);", "return o && o->is_sanitizer;")],
        "tests/test_sanitizers.py::test_a_sanitizers_own_destructors_are_no_arrivals"),
]
