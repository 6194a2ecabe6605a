/* A bounded model of Spate's coordination protocol (src/cluster/processor.h, leader.h; docs/design/2026-11-30-coordination.md).
 *
 * What is modelled: the one `model` register (compare-and-set on its version), one register per member
 * (version acknowledged, tasks held), the fencing of a seat in the commit store, three processors that can
 * crash and come back as a new incarnation, and two leaders at the same time, of which one may die between any
 * two steps. There is NO lease in this model and no clock: a leader may evict any member at any moment
 * (that covers pauses, partitions and clock skew), and both leaders may act at once (that covers a lease
 * that two believe they hold). So what holds here holds without any timing assumption.
 *
 * Checked: I-OWN   a task has at most one unfenced runner;
 *          I-BAR   after a stop-all round no unfenced processor works under another plan;
 *          I-LIVE  when faults are over and nothing can move any more, every task runs at its owner.
 * Mutations (-D...) break one rule each, and the check must then fail:
 *   M_NOCAS       the leader writes the model without compare-and-set
 *   M_NOFENCE     an evicted owner's tasks are opened without fencing its seat
 *   M_NOACK       a task is opened without waiting for its former holder's acknowledgement
 *   M_LOSTFROM    moving a task that is still closed forgets who really holds it
 *   M_EARLYFULL   a stop-all round opens task by task instead of all at once
 *   M_NOINC       a restarted processor keeps its old identity
 *   M_EARLYACK    a processor acknowledges that it released what it has not stopped
 *   M_LATESEAT    a processor works as soon as its seat was opened, without reading the model again
 *
 * A processor acknowledges a version at once, with what it still holds, and again when it has stopped that. Opening a seat makes whoever
 * does so last the one whose commits are accepted, also after a fence: so the model is read between that and the first commit.
 * SEATS=1 models that; without it a seat is open from the start, as if it were opened in the step that admits the member.
 *
 * Run: tests/models/run [--all]. MOVES, EVICTS, FULLS, CRASHES bound how often each is chosen (evicting what has surely gone is always
 * free); TURNS bounds the mortal leader. A processor has two incarnations and retires after the second.
 *
 * Explored with Spin 6.5.2, no error: exhaustively one move (7,470,646 states) and one
 * stop-all round (108,145; with SEATS 1,615,555). Larger mixes in part and in
 * random order: see --all. Not a proof of those. All mutations fail within seconds in random order.
 *
 * What making it taught: (1) a joiner that takes "not listed" for "evicted" burns its incarnations, and one that was listed
 * and evicted between two polls would never learn it: hence the list `evicted` in the register; (2) a closed task must keep
 * its `from` through any number of re-assignments; (3) in a stop-all round every evicted seat must be fenced before
 * anything opens, so the leader fences, not the next owner.
 * Not modelled: commits and fences that are themselves delayed (atomic here; but an opening of a seat may come after its fence), seats lent
 * again, sinks that refuse nobody (they need clocks: tests/simulation/), the control log, standby tasks.
 */
#ifndef MOVES
#define MOVES 1
#endif
#ifndef EVICTS
#define EVICTS 1
#endif
#ifndef FULLS
#define FULLS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef SEATS
#define SEATS 0
#endif
#if SEATS
#define SEAT_NEW 0
#else
#define SEAT_NEW 2
#endif
#ifndef TURNS
#define TURNS 2                    /* turns of the mortal leader before it surely dies */
#endif
#define NT   2                     /* tasks */
#define NS   6                     /* seats: processor p, incarnation i -> 2p+i */
#define NONE 7
#define BIT(x) (1 << (x))

/* the model register */
byte m_cas, m_ver = 1, m_plan = 1, m_memb = 21 /* seats 0,2,4 */;
byte m_owner[NT], m_from[NT], m_epoch[NT];
bit  m_open[NT], m_evict[NT];

/* a lagging replica of it (a ZooKeeper follower): some old value, served only to a process that has just started */
byte p_ver, p_plan, p_memb, p_owner[NT]; bit p_open[NT];

/* the member registers, one writer each */
byte r_ack[8], r_held[8], r_live = 21;

/* the commit store, and ghosts for the assertions */
bit  fenced[8];
byte work[8], plan_of[8];
byte moves = MOVES, evicts = EVICTS, fulls = FULLS, crashes = CRASHES;

inline check_start(me, t, pl) {
  k = 0;
  do
  :: k < NS && !fenced[me] ->
     if
     :: k != me && !fenced[k] ->
        assert(!(work[k] & BIT(t)));                       /* I-OWN */
        assert(work[k] == 0 || plan_of[k] == pl)           /* I-BAR */
     :: else
     fi; k++
  :: else -> break
  od; k = 0
}

proctype Processor(byte p) {
  byte sid, ver, held, memb, pl, k, seat = SEAT_NEW;   /* seat: 0 closed, 1 opened, 2 and the model was read after that */
  byte owner[NT]; byte open; bit listed;
  sid = 2 * p;
  do
  :: d_step {                                             /* adopt the newest model; never an older one */
       (m_ver > ver || (m_ver == ver && (m_open[0] | (m_open[1] << 1)) != open)) ->
       ver = m_ver; memb = m_memb; pl = m_plan;
       owner[0] = m_owner[0]; owner[1] = m_owner[1];
       open = m_open[0] | (m_open[1] << 1)
     }
adopted:
     if                                                    /* acknowledge at once, with what is still held */
#ifdef M_EARLYACK
     :: (memb & BIT(sid)) -> d_step { r_ack[sid] = ver; r_held[sid] = 0 }
#else
     :: (memb & BIT(sid)) -> d_step { r_ack[sid] = ver; r_held[sid] = held; listed = 1 }
#endif
     :: else
     fi;
     if
     :: !(memb & BIT(sid)) && listed ->                    /* evicted: drop all, commit nothing, new incarnation */
        d_step { work[sid] = 0; held = 0; listed = 0; seat = SEAT_NEW; r_live = r_live & ~BIT(sid) }
        if
        :: sid == 2 * p -> d_step { sid = sid + 1; r_live = r_live | BIT(sid); k = 0 }
        :: else -> goto gone
        fi
     :: else ->
        d_step {                                          /* stop what this version takes away: last commit, release */
          if :: (held & 1) && !(owner[0] == sid && (open & 1)) -> held = held & ~1; work[sid] = work[sid] & ~1 :: else fi;
          if :: (held & 2) && !(owner[1] == sid && (open & 2)) -> held = held & ~2; work[sid] = work[sid] & ~2 :: else fi
        }
        d_step { r_ack[sid] = ver; r_held[sid] = held;    /* then acknowledge */
          if :: (memb & BIT(sid)) -> listed = 1 :: else fi }
     fi
  :: d_step {                                             /* a fresh process may be served an old model once */
       (ver == 0 && p_ver > 0) ->
       ver = p_ver; memb = p_memb; pl = p_plan; owner[0] = p_owner[0]; owner[1] = p_owner[1];
       open = p_open[0] | (p_open[1] << 1)
     }
     goto adopted
#if SEATS
  :: (seat == 0 && ver > 0 && (memb & BIT(sid))) ->       /* the last to open a seat may commit, fenced or not */
#ifdef M_LATESEAT
     d_step { fenced[sid] = 0; seat = 2 }
#else
     d_step { fenced[sid] = 0; seat = 1 }
  :: d_step { (seat == 1) ->
       ver = m_ver; memb = m_memb; pl = m_plan; owner[0] = m_owner[0]; owner[1] = m_owner[1];
       open = m_open[0] | (m_open[1] << 1);
       if :: (memb & BIT(sid)) -> seat = 2 :: else fi
     }
     goto adopted
#endif
#endif
  :: (owner[0] == sid && (open & 1) && !(held & 1) && ver > 0 && seat == 2 && (memb & BIT(sid))) ->
     d_step { check_start(sid, 0, pl); held = held | 1; work[sid] = work[sid] | 1; plan_of[sid] = pl; r_held[sid] = held }
  :: (owner[1] == sid && (open & 2) && !(held & 2) && ver > 0 && seat == 2 && (memb & BIT(sid))) ->
     d_step { check_start(sid, 1, pl); held = held | 2; work[sid] = work[sid] | 2; plan_of[sid] = pl; r_held[sid] = held }
  :: fenced[sid] ->                           /* a commit refused: same as evicted */
     d_step { work[sid] = 0; held = 0; listed = 0; seat = SEAT_NEW; r_live = r_live & ~BIT(sid) }
     if
     :: sid == 2 * p -> d_step { sid = sid + 1; r_live = r_live | BIT(sid) }
     :: else -> goto gone
     fi
  :: d_step { (crashes > 0 && sid == 2 * p) ->            /* kill -9, then a restart */
       crashes--; work[sid] = 0; held = 0;
#ifndef M_NOINC
       r_live = r_live & ~BIT(sid); sid = sid + 1; r_live = r_live | BIT(sid);
#endif
       ver = 0; memb = 0; open = 0; listed = 0; seat = SEAT_NEW; owner[0] = NONE; owner[1] = NONE }
  od;
gone: skip
}

#define SEVERAL(m) (((m) & ((m) - 1)) != 0)
#define CHOICE ((moves > 0 && SEVERAL(m_memb)) || (evicts > 0 && SEVERAL(m_memb)) || (fulls > 0 && m_open[0] && m_open[1]))
#define CLOSED(t) (!m_open[t])
#if defined(M_NOACK)
#define REL(t) 1
#else
#define REL(t) (m_from[t] == NONE || m_evict[t] || (r_ack[m_from[t]] >= m_epoch[t] && !(r_held[m_from[t]] & BIT(t))))
#endif
#define AGR(s) (!(m_memb & BIT(s)) || r_ack[s] >= m_ver)
#define ALLAGREE (AGR(0) && AGR(1) && AGR(2) && AGR(3) && AGR(4) && AGR(5))
#ifdef M_EARLYFULL
#define ROUND 0                                           /* forget that the round is a stop-all one */
#else
#define ROUND (m_plan == m_ver && !(m_open[0] && m_open[1]))
#endif
#define CAN_OPEN ((!ROUND && ((CLOSED(0) && REL(0)) || (CLOSED(1) && REL(1)))) || (ROUND && REL(0) && REL(1) && ALLAGREE))

inline new_version() {                                    /* a stop-all round in progress stays one */
  ver = m_ver + 1; did = 1;
  if :: ROUND -> plan = ver; epoch[0] = ver; epoch[1] = ver :: else fi
}

/* One turn: read and decide in one step, then fence, then write. Between them anything may happen, the death of
 * this leader included. Reading the members after the model is the same as reading both at once, for a write that
 * follows a changed model fails anyway. */
proctype Leader(bit mortal) {
  byte cas, ver, plan, memb, t, s, n, live, tofence, turns = TURNS;
  byte owner[NT], from[NT], epoch[NT], evict[NT]; byte open; bit did;
  do
  :: mortal -> break                                      /* the leader dies here */
  :: atomic {
       ((!mortal || turns > 0) && (CHOICE || (r_live & ~m_memb) != 0 || (m_memb & ~r_live) != 0 || CAN_OPEN)) ->
       if :: mortal -> turns-- :: else fi;
       cas = m_cas; ver = m_ver; plan = m_plan; memb = m_memb; live = r_live; did = 0; tofence = 0;
       owner[0] = m_owner[0]; owner[1] = m_owner[1]; from[0] = m_from[0]; from[1] = m_from[1];
       epoch[0] = m_epoch[0]; epoch[1] = m_epoch[1]; evict[0] = m_evict[0]; evict[1] = m_evict[1];
       open = m_open[0] | (m_open[1] << 1);
       if
       :: moves > 0 && SEVERAL(memb) ->                   /* move a task to another member */
          select(t : 0 .. 1); select(s : 0 .. 5);
          if
          :: (memb & BIT(s)) && s != owner[t] ->
             moves--; new_version();
#ifdef M_LOSTFROM
             from[t] = owner[t]; evict[t] = 0;
#else
             if :: (open & BIT(t)) -> from[t] = owner[t]; evict[t] = 0 :: else fi;
#endif
             owner[t] = s; open = open & ~BIT(t); epoch[t] = ver
          :: else
          fi
       :: SEVERAL(memb) && (evicts > 0 || (memb & ~live) != 0) -> /* evict a suspect, or one that is surely gone */
          select(s : 0 .. 5); select(n : 0 .. 5);
          if
          :: (memb & BIT(s)) && n != s && (memb & BIT(n)) && (evicts > 0 || !(live & BIT(s))) ->
             if :: (live & BIT(s)) -> evicts-- :: else fi;
             new_version();
             memb = memb & ~BIT(s);
             for (t : 0 .. 1) {
               if :: from[t] == s && !(open & BIT(t)) -> evict[t] = 1 :: else fi;
               if
               :: owner[t] == s ->
                  if :: (open & BIT(t)) -> from[t] = s; evict[t] = 1 :: else fi;
                  owner[t] = n; open = open & ~BIT(t); epoch[t] = ver
               :: else
               fi
             }
          :: else
          fi
       :: (live & ~memb) != 0 ->                          /* admit a newcomer */
          select(s : 0 .. 5);
          if :: (live & BIT(s)) && !(memb & BIT(s)) -> new_version(); memb = memb | BIT(s) :: else fi
       :: fulls > 0 && open == 3 ->                       /* a stop-all round: a new plan */
          fulls--; ver++; did = 1; plan = ver;
          from[0] = owner[0]; from[1] = owner[1]; evict[0] = 0; evict[1] = 0;
          epoch[0] = ver; epoch[1] = ver; open = 0
       :: CAN_OPEN ->                                     /* fence what is evicted, then open what is released */
          for (t : 0 .. 1) {
            if
            :: !(open & BIT(t)) && (ROUND || REL(t)) ->
#ifndef M_NOFENCE
               if :: evict[t] -> tofence = tofence | BIT(from[t]) :: else fi;
#endif
               open = open | BIT(t); from[t] = NONE; evict[t] = 0; did = 1
            :: else
            fi
          }
       fi;
       t = 0; s = 0; n = 0; live = 0
     }
     if
     :: did ->
        d_step {                                          /* fence in the commit store */
          for (s : 0 .. 5) { if :: tofence & BIT(s) -> fenced[s] = 1 :: else fi }
          s = 0; tofence = 0
        }
        if :: mortal -> break :: true fi;
        d_step {                                          /* one conditional write of the whole register */
          if
#ifdef M_NOCAS
          :: true ->
#else
          :: m_cas == cas ->
#endif
             m_cas++; m_ver = ver; m_plan = plan; m_memb = memb;
             m_owner[0] = owner[0]; m_owner[1] = owner[1]; m_from[0] = from[0]; m_from[1] = from[1];
             m_epoch[0] = epoch[0]; m_epoch[1] = epoch[1]; m_evict[0] = evict[0]; m_evict[1] = evict[1];
             m_open[0] = open & 1; m_open[1] = (open >> 1) & 1
          :: else
          fi
        }
     :: else
     fi;
     d_step { cas = 0; ver = 0; plan = 0; memb = 0; tofence = 0; open = 0; did = 0;
       owner[0] = 0; owner[1] = 0; from[0] = 0; from[1] = 0; epoch[0] = 0; epoch[1] = 0; evict[0] = 0; evict[1] = 0 }
  od
}

proctype Replica() {
  d_step { p_ver = m_ver; p_plan = m_plan; p_memb = m_memb; p_owner[0] = m_owner[0]; p_owner[1] = m_owner[1];
    p_open[0] = m_open[0]; p_open[1] = m_open[1] }
}

init {
  d_step {
    m_owner[0] = 0; m_owner[1] = 2; m_from[0] = NONE; m_from[1] = NONE; m_epoch[0] = 1; m_epoch[1] = 1;
    m_open[0] = 1; m_open[1] = 1
  }
  atomic { run Processor(0); run Processor(1); run Processor(2); run Leader(1); run Leader(0);
#if CRASHES > 0
    run Replica()
#endif
  }
  /* I-LIVE: the immortal leader has nothing left to do and nobody moves */
  timeout ->
  assert(m_open[0] && m_open[1] && (work[m_owner[0]] & 1) && (work[m_owner[1]] & 2) && !fenced[m_owner[0]] && !fenced[m_owner[1]])
}
