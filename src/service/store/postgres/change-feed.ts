import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { PostgresClient } from './postgres-client.ts'

/** In ms, between attempts to listen. */
const pause = 500

/**
 * Reports that data may have changed, in this or another process. Listens on a separate connection. Each
 * second counts as a change, in case a notification was lost.
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

  /** The first call starts listening, so that a command that never calls it needs no second connection. */
  generation(): number {
    this.#listening ??= this.#listen()
    return this.#changes + Math.floor(performance.now() / 1000)
  }

  /** Reports a change of this process immediately, without waiting for the notification. */
  bump(): void {
    this.#changes += 1
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#client?.end().catch(() => {})
    await this.#listening
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      const client = this.#connect()
      this.#client = client
      client.on('notification', () => this.bump())
      const ended = once(client, 'end')
      try {
        // If a client is ended while it connects, its `connect` never settles.
        await Promise.race([client.connect(), ended])
        await client.query(`select pg_advisory_lock_shared(${useLock})`)
        await client.query(`listen ${channel}`)
        // Data may have changed while no client listened.
        this.bump()
        if (!signal.aborted) await ended
      } catch {
        // Tried again below.
      }
      await client.end().catch(() => {})
      // Ends early when aborted.
      await setTimeout(pause, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}

/** "used" in ASCII: the advisory lock that each service process shares, and that PostgreSQL releases when it ends. */
export const useLock = 0x75_73_65_64

const channel = 'chatctl'

const trigger = 'chatctl_changed'

/** The tables of `Store.generation`. */
const watched = ['settings', 'api_configuration', 'api_keys', 'users']

/**
 * Notifies all processes of a change by any client, also by psql. The last use of a key does not count as
 * a change. May run again.
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
