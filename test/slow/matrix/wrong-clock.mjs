/**
 * Given to Node with --import: the clock of the machine, as WRONG_CLOCK says. Only the wall clock;
 * timers and performance.now() go on as they do when somebody sets it.
 */

const RightDate = globalThis.Date
const started = RightDate.now()
const year = 365 * 86_400_000

/** Milliseconds to be added, so many milliseconds after the start. */
const shifts = {
  ahead: () => 10 * year,
  1970: () => 1_000 - started,
  'jumps back': (elapsed) => (elapsed > 60 ? -3_600_000 : 0),
  'jumps ahead': (elapsed) => (elapsed > 60 ? 86_400_000 : 0),
}

const shift = shifts[process.env.WRONG_CLOCK]

function now() {
  const right = RightDate.now()
  return right + shift(right - started)
}

class WrongDate extends RightDate {
  constructor(...given) {
    if (given.length === 0) super(now())
    else super(...given)
  }

  static now() {
    return now()
  }
}

globalThis.Date = WrongDate
