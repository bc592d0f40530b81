import { closeSync, existsSync, openSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { nameOfService } from '../../contract/resources/saved-plan.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { LineLog, readCompleteLines } from '../../system/files/line-log.ts'
import { formatEntry, readEntry, type StateEntry } from './state-entry.ts'
import { invalid, type StateFile, type StateHeader } from './state-file.ts'

/** An entry that was added or replaced, or the email of one that was removed. */
export type StateChange = StateEntry | { removed: string }

/** Called with each change, and with the serial of the generation that the journal continues. */
type OnChange = (change: StateChange, serial: number) => void

const format = 'chatctl-users-state-journal'

const journalOf = ({ path, name }: StateFile): StateFile => ({
  path: `${path}.journal`,
  name: `${name}.journal`,
})

export const hasJournal = (state: StateFile): boolean => existsSync(journalOf(state).path)

const journalHint =
  'The journal has the changes of an interrupted run, for example the ids of users that it created. Repair it, or move it away to go on without these changes.'

/** Reads the journal of a running or killed process. @throws Failure as `StateJournal.restore` */
export function readJournal(state: StateFile, service: string, onChange: OnChange): void {
  const journal = journalOf(state)
  let file: number
  try {
    file = openSync(journal.path, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new Failure('storage', `Cannot read ${journal.name}: ${describeSystemError(cause)}`, { cause })
  }
  try {
    readCompleteLines(file, lineReader(journal, service, onChange))
  } finally {
    closeSync(file)
  }
}

/** The changes of a run, which the next generation of the state file will contain. */
export class StateJournal {
  readonly #file: StateFile
  readonly #header: StateHeader
  readonly #log: LineLog
  /** The generation that the last lines continue. */
  #serial: number | undefined

  constructor(state: StateFile, header: StateHeader) {
    this.#file = journalOf(state)
    this.#header = header
    this.#log = new LineLog({
      path: this.#file.path,
      failureOf: (cause) => unwritable(this.#file.name, cause),
    })
  }

  /**
   * Reads the journal of a killed process, to continue it.
   *
   * @throws Failure `refused` for invalid content, `conflict` for another service, `storage`
   */
  restore(onChange: OnChange): void {
    const take: OnChange = (change, serial) => {
      this.#serial = serial
      onChange(change, serial)
    }
    this.#log.restore(lineReader(this.#file, this.#header.service, take))
  }

  get isEmpty(): boolean {
    return this.#log.size === 0
  }

  /** Whether lines of this run may never reach the disk. */
  get isBroken(): boolean {
    return this.#log.isBroken
  }

  append(change: StateChange): void {
    if (this.#serial !== this.#header.serial) {
      this.#log.append(JSON.stringify({ format, v: 1, ...this.#header }))
      this.#serial = this.#header.serial
    }
    this.#log.append('removed' in change ? JSON.stringify(change) : formatEntry(change))
  }

  flush(): Promise<void> {
    return this.#log.flush()
  }

  close(): void {
    this.#log.close()
  }

  remove(): void {
    this.#log.remove()
  }
}

/** @returns a function that takes the lines in their order */
function lineReader(file: StateFile, service: string, onChange: OnChange): (text: string) => void {
  let line = 0
  let serial = 0
  return (text) => {
    const value = parse(text)
    line++
    // There is another header if the state file was replaced before a later run continued the journal.
    if (line > 1 && !('format' in value)) {
      const change = readChange(value)
      if (typeof change === 'string') throw invalid(file, line, change, journalHint)
      onChange(change, serial)
      return
    }
    if (value['format'] !== format || value['v'] !== 1 || typeof value['serial'] !== 'number') {
      throw invalid(
        file,
        line,
        'not the journal of a state file that this version of chatctl reads',
        journalHint,
      )
    }
    if (value['service'] !== service) throw otherService(file.name, String(value['service']), service)
    serial = value['serial']
  }
}

function readChange(value: Record<string, unknown>): StateChange | string {
  const { removed } = value
  return typeof removed === 'string' ? { removed } : readEntry(value)
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

export function otherService(name: string, found: string, service: string): Failure {
  return new Failure(
    'conflict',
    `${name} is for ${nameOfService(found)}, not for ${nameOfService(service)}`,
    {
      advice: [{ code: 'service_of_state' }],
    },
  )
}

function unwritable(name: string, cause: unknown): Failure {
  return new Failure('storage', `Cannot write ${name}: ${describeSystemError(cause)}`, {
    hint: 'chatctl changes no user without this journal. Make it writable and run the same command.',
    cause,
  })
}
