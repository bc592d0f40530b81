import { dirname, join } from 'node:path'
import { digestOf, type SeenMessages } from '../client/history/message-keys.ts'
import type { HistoryBatch } from '../client/history/walk-history.ts'
import type { ContextOwner } from '../config/last-context.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { cursorOf, timeOf } from '../contract/resources/history-order.ts'
import { demandUser } from '../run/demand-user.ts'
import type { Run } from '../run/run.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { demandProcessLock } from '../system/files/process-lock.ts'
import type { HistoryStore, Part, PartEnding } from './fetch-history.ts'
import { MessageDatabase, type StoredMessage, storageError } from './message-database.ts'

/** What a mirror says about itself. */
export interface MirrorFacts extends MirrorOwner {
  /** Null if the service does not tell it. */
  userId: string | null
  messages: number
  /** Unix time in ms: it contains all messages up to then. Null until the first complete sync. */
  asOf: number | null
  /** Whether a sync was interrupted. */
  isIncomplete: boolean
}

/** `keys` identifies messages as the walk does; their part is -1 while they are fetched again. */
const schema = `
create table if not exists owner (
  profile text, base_url text, user_id text,
  messages integer not null, as_of integer, is_replaced integer not null
) strict;
create table if not exists parts (part integer primary key, position text, ending text) strict;
create table if not exists keys (
  key integer primary key, part integer not null, message integer not null
) strict, without rowid;
`

/**
 * A copy of the history of one user in a database. Each page is one transaction, so that it is usable
 * whenever a sync ends.
 */
export class Mirror implements HistoryStore {
  readonly #store: MessageDatabase
  #parts: Part[]

  /** @throws Failure `storage` */
  constructor(path: string, owner: MirrorOwner) {
    this.#store = new MessageDatabase(path, schema)
    this.#store.transact(() =>
      this.#store
        .prepare('insert into owner select ?, ?, null, 0, null, 0 where not exists (select 1 from owner)')
        .run(owner.profile, owner.baseUrl),
    )
    this.#parts = this.#readParts()
  }

  get path(): string {
    return this.#store.path
  }

  get parts(): readonly Part[] {
    return this.#parts
  }

  facts(): MirrorFacts {
    const facts = this.#store.guard(() => readFacts(this.#store))
    if (!facts) throw new Error('the mirror has no owner')
    return facts
  }

  setUser(userId: string): void {
    this.#change(() => this.#store.prepare('update owner set user_id = ?').run(userId))
  }

  append(part: number, { messages, keys, position }: HistoryBatch): void {
    this.#change(() => {
      let added = 0
      let time = position.time
      for (const message of messages) {
        const at = timeOf(message)
        // A message without a time is sorted after the one before it.
        if (Number.isFinite(at)) time = at
        if (this.#put(part, message, time ?? 0, keys.get(message) ?? 0)) added++
      }
      this.#store.prepare('update owner set messages = messages + ?').run(added)
      this.#setPart(part, 'position', JSON.stringify(position))
    })
  }

  endPart(part: number, ending: PartEnding): void {
    this.#change(() => this.#setPart(part, 'ending', ending))
  }

  storedKeys(): SeenMessages {
    const seen: SeenMessages = new Map()
    const rows = this.#store.prepare('select key, part from keys where part >= 0')
    this.#store.guard(() => {
      for (const row of rows.iterate()) {
        const { key, part } = row as { key: number; part: number }
        seen.set(key, part)
      }
    })
    return seen
  }

  /**
   * Forgets which messages it has, so that all are fetched again. They stay until then.
   * @param isReplaced whether messages that the service no longer has are removed at the end
   */
  restart(isReplaced = false): void {
    this.#change(() => {
      this.#store.prepare('delete from parts').run()
      this.#store.prepare('update keys set part = -1').run()
      this.#store.prepare('update owner set is_replaced = ?').run(isReplaced ? 1 : 0)
    })
  }

  /**
   * Records that it contains all messages.
   * @param asOf Unix time in ms at which the sync began
   * @param mayLack whether the service may have hidden messages, so that none is removed
   */
  finish(asOf: number, mayLack: boolean): void {
    this.#change(() => {
      const isReplaced = this.#store.prepare('select is_replaced from owner').get()?.['is_replaced'] === 1
      if (isReplaced && !mayLack) this.#removeUnseen()
      if (isReplaced) this.#store.removeDeletedWords()
      this.#store.prepare('update owner set as_of = ?, is_replaced = 0').run(asOf)
      this.#store.prepare('update keys set part = 0 where part <> 0').run()
      // The position has the order of the service.
      this.#store.prepare('delete from parts where part < (select max(part) from parts)').run()
      this.#store.prepare("update parts set part = 0, ending = 'ended'").run()
    })
  }

  close(): void {
    this.#store.close()
  }

  /** @returns whether it is new */
  #put(part: number, message: HistoryMessage, time: number, key: number): boolean {
    const known = this.#store.prepare('select message from keys where key = ?').get(key)
    const stored = storedForm(message)
    if (typeof known?.['message'] === 'number') {
      this.#store.replaceText(known['message'], stored)
      this.#store.prepare('update keys set part = ? where key = ?').run(part, key)
      return false
    }
    const id = this.#store.add(stored, time)
    this.#store.prepare('insert into keys values (?, ?, ?)').run(key, part, id)
    return true
  }

  #setPart(part: number, column: 'position' | 'ending', value: string): void {
    const update = `on conflict (part) do update set ${column} = excluded.${column}`
    this.#store.prepare(`insert into parts (part, ${column}) values (?, ?) ${update}`).run(part, value)
  }

  #removeUnseen(): void {
    const unseen = this.#store.prepare('select message from keys where part = -1').all()
    for (const { message } of unseen) this.#store.remove(Number(message))
    this.#store.prepare('delete from keys where part = -1').run()
    this.#store.prepare('update owner set messages = messages - ?').run(unseen.length)
  }

  #change(work: () => void): void {
    this.#store.transact(work)
    this.#parts = this.#readParts()
  }

  #readParts(): Part[] {
    const rows = this.#store.guard(() =>
      this.#store.prepare('select position, ending from parts order by part').all(),
    )
    return rows.map(({ position, ending }) => ({
      position: typeof position === 'string' ? JSON.parse(position) : undefined,
      ending: (ending ?? undefined) as PartEnding | undefined,
    }))
  }
}

/**
 * Opens an existing mirror to search it. Without facts if the first sync was killed before it had fetched anything.
 * @throws Failure `storage`
 */
export function openToSearch(path: string): { store: MessageDatabase; facts: MirrorFacts | undefined } {
  const store = new MessageDatabase(path, schema)
  try {
    return { store, facts: store.guard(() => readFacts(store)) }
  } catch (error) {
    store.close()
    throw error
  }
}

/**
 * @param question what continuing with the mirror of another user means
 * @returns false if it belongs to another user, and the user agreed
 * @throws Failure `conflict` if it does; `declined`
 */
export function demandMirror(
  path: string,
  facts: MirrorFacts | undefined,
  run: Pick<Run, 'confirm'>,
  user: string | undefined,
  question: string,
): Promise<boolean> {
  const hint = 'Use another profile for this user, or move the file elsewhere to start a new mirror.'
  return demandUser(run, { subject: `The mirror ${path}`, owner: facts?.userId, user, question, hint })
}

function readFacts(store: MessageDatabase): MirrorFacts | undefined {
  const row = store.prepare('select * from owner').get()
  if (!row) return undefined
  const parts = store.prepare('select ending from parts').all()
  const asOf = row['as_of'] as number | null
  return {
    profile: row['profile'] as string | null,
    baseUrl: row['base_url'] as string | null,
    userId: row['user_id'] as string | null,
    messages: Number(row['messages']),
    asOf,
    isIncomplete: asOf === null || parts.length !== 1 || parts[0]?.['ending'] !== 'ended',
  }
}

function storedForm(message: HistoryMessage): StoredMessage {
  const { role, content, context_id: contextId } = message
  const time = new Date(timeOf(message))
  return {
    at: Number.isNaN(time.getTime()) ? null : time.toISOString(),
    role: typeof role === 'string' ? role : null,
    contextId: typeof contextId === 'string' ? contextId : null,
    messageId: cursorOf(message, 'id') ?? null,
    text: typeof content === 'string' ? content : content == null ? '' : JSON.stringify(content),
  }
}

/** Whose history a mirror contains. */
export interface MirrorOwner {
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
}

/** The directory of the mirrors, and of the index of transcripts. */
export function mirrorsDirectory({ data }: Directories): string {
  return join(data, 'mirrors')
}

export function ownerOf({ profile, baseUrl }: ContextOwner): MirrorOwner {
  return { profile: profile ?? null, baseUrl: baseUrl ?? null }
}

export function mirrorPath(directory: string, { profile, baseUrl }: MirrorOwner): string {
  return join(directory, `${digestOf([JSON.stringify([profile, baseUrl])])}.db`)
}

/** @throws Failure `conflict` if another process syncs this mirror, `storage` */
export function lockMirror(mirror: string): () => void {
  const directory = dirname(mirror)
  const path = mirror.replace(/\.db$/, '.lock')
  const hint = 'Wait until it has ended. It holds the lock of the mirror.'
  try {
    makePrivateDirectory(directory)
    return demandProcessLock(path, 'Another chatctl process is syncing this history', { hint })
  } catch (error) {
    throw storageError(directory, error)
  }
}
