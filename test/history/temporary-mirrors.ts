import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '../../src/client/client.ts'
import type { HistoryMessage } from '../../src/contract/resources/conversation.ts'
import { MessageDatabase } from '../../src/history/message-database.ts'
import { SearchQuery } from '../../src/history/search-query.ts'
import { type SyncResult, type SyncRun, syncHistory } from '../../src/history/sync-history.ts'
import { systemClock } from '../../src/system/clock.ts'
import { Directories } from '../../src/system/files/directories.ts'

/** A data directory for the mirrors of one test. */
export function createMirrors() {
  const home = mkdtempSync(join(tmpdir(), 'chatctl-mirrors-'))
  return {
    home,
    directories: new Directories({ HOME: home }, 'linux'),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** What fetching needs of a run with a client. @param said gets the notices */
export function fetchRun(client: Client, said: string[] = []) {
  return {
    connect: async () => client,
    progress: () => ({ update() {}, pause() {}, resume() {}, end() {} }),
    say: (text: string) => void said.push(text),
    warn: async () => {},
    warnOfResponse: async () => {},
  }
}

/** Syncs with a service on loopback. */
export async function syncFrom(
  url: string,
  directories: Directories,
  { isFull = false, said, ...more }: Partial<SyncRun> & { isFull?: boolean; said?: string[] } = {},
): Promise<SyncResult> {
  const client = new Client({ baseUrl: url })
  try {
    const run = {
      ...fetchRun(client, said),
      directories,
      contextOwner: () => ({ profile: undefined, baseUrl: 'https://chat.example/' }),
      clock: systemClock,
      user: async () => undefined,
      confirm: async () => {},
      ...more,
    }
    return await syncHistory(run, { isFull })
  } finally {
    await client.close()
  }
}

/** The messages of a mirror in a comparable order, without their IDs in the database. */
export function messagesIn(path: string): unknown[] {
  const store = new MessageDatabase(path, '')
  try {
    return store
      .prepare('select at, role, message_id, text from messages order by at, message_id, text')
      .all()
      .map((row) => ({ ...row }))
  } finally {
    store.close()
  }
}

/** The same for the messages of a service. */
export function asStored(messages: readonly HistoryMessage[]): unknown[] {
  return messages
    .map(({ created_at, role, id, content }) => ({ at: created_at, role, message_id: id, text: content }))
    .sort((a, b) => compare(a.at, b.at) || compare(a.message_id, b.message_id))
}

function compare(a: unknown, b: unknown): number {
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
}

/** A database in memory with these texts. */
export function openWith(texts: readonly string[]): MessageDatabase {
  const store = new MessageDatabase('', '')
  for (const [index, text] of texts.entries()) {
    store.add({ at: null, role: 'user', contextId: null, messageId: null, text }, index)
  }
  return store
}

/** The texts that a search finds, the newest first. */
export function textsFound(store: MessageDatabase, words: string): string[] {
  const filters = { since: undefined, role: undefined, contextId: undefined }
  return Array.from(store.search(new SearchQuery(words), filters, 1000), ({ text }) => text)
}
