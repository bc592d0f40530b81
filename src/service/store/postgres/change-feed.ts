import { once } from 'node:events'
import type { PostgresClient } from './postgres-client.ts'

/** How long, in ms, to wait before listening is tried again: twice as long each time. */
const minPause = 100
const maxPause = 1_000

/**
 * Says that something may have changed, whichever process changed it. It listens on a connection of
 * its own, and what it might have missed is made up for: each second counts as a change.
 */
export class ChangeFeed {
  readonly #connect: () => PostgresClient
  readonly #closed = new AbortController()
  #listening: Promise<void> | undefined
  #client: PostgresClient | undefined
  #changes = 0

  /** @param connect makes a client that is not connected yet */
  constructor(connect: () => PostgresClient) {
    this.#connect = connect
  }

  /** The first call begins to listen: a command that never asks needs no second connection. */
  generation(): number {
    this.#listening ??= this.#listen()
    return this.#changes + Math.floor(performance.now() / 1000)
  }

  /** A change of this process's own, which must not wait for its way through the database. */
  bump(): void {
    this.#changes += 1
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#client?.disconnect()
    await this.#listening
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closed
    let pause = minPause
    while (!signal.aborted) {
      const client = this.#connect()
      this.#client = client
      // It ends after each error, which is all that matters here.
      client.on('error', () => {})
      client.on('notification', () => this.bump())
      const ended = once(client, 'end')
      try {
        // A client that is ended while it connects ends, and leaves `connect` waiting for ever.
        await Promise.race([client.connect(), ended])
        await client.query(`listen ${channel}`)
        // Nobody knows what happened while nobody listened.
        this.bump()
        pause = minPause
        if (!signal.aborted) await ended
      } catch {
        // Tried again below.
      }
      await client.disconnect()
      await sleep(pause, signal)
      pause = Math.min(2 * pause, maxPause)
    }
  }
}

/** Ends early when aborted, and keeps no process alive. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(resolve, ms)
    timer.unref()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** What the triggers call, and what the change feed listens to. */
const channel = 'chatctl'

/** Changed with the SQL below, so that older triggers are replaced. */
const trigger = 'chatctl_changed_1'

/** What `Store.generation` speaks of. */
const watched = ['settings', 'api_configuration', 'api_keys', 'users']

/** How many triggers of this version the schema has; `allTriggers` when nothing is to be done. */
export const countTriggers = `
select count(*) as n from pg_trigger t
  join pg_class c on c.oid = t.tgrelid
  join pg_namespace s on s.oid = c.relnamespace
where s.nspname = current_schema() and t.tgname in ('${trigger}', '${trigger}_row') and not t.tgisinternal`

export const allTriggers = 2 * watched.length

/**
 * Tells all processes of a change, whoever made it: psql included. That a key was used is not one.
 * May run on top of itself.
 */
export const createTriggers = `
create or replace function chatctl_notify() returns trigger language plpgsql as $$
begin
  perform pg_notify('${channel}', tg_table_name);
  return null;
end
$$;
${watched
  .map(
    (table) => `
drop trigger if exists ${trigger} on ${table};
create trigger ${trigger} after insert or delete or truncate on ${table}
  for each statement execute function chatctl_notify();
drop trigger if exists ${trigger}_row on ${table};
create trigger ${trigger}_row after update on ${table} for each row
  when ((to_jsonb(old) - 'last_used_at') is distinct from (to_jsonb(new) - 'last_used_at'))
  execute function chatctl_notify();`,
  )
  .join('')}`
