import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { historyService, plainReading, type StoredMessage } from '../../support/handlers/history.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, json, startScriptedServer } from '../../support/scripted-server.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()

describe('history search after history sync', () => {
  const sandbox = perTest(createSandbox)
  let stored: StoredMessage[]
  let userId: string | undefined
  const server = perTest(() =>
    startScriptedServer({
      choose: (request, index) => {
        if (request.path.startsWith('/api/user'))
          return userId === undefined ? failing(403, 'forbidden', 'No') : json(200, { id: userId })
        return historyService(plainReading, stored).choose(request, index)
      },
    }),
  )
  beforeEach(() => {
    userId = 'u1'
    stored = [
      { id: 'a', role: 'user', content: 'What is a write-ahead log?', created_at: at(1) },
      { id: 'b', role: 'assistant', content: 'A log that is written first.', created_at: at(2) },
    ]
  })

  function chatctl(args: readonly string[], options: HostOptions = {}) {
    return runChatctl(sandbox, ['history', ...args], { service: server, ...options })
  }

  const mirrors = () => join(sandbox.home, '.local/share/chatctl/mirrors')
  const mirror = () => join(mirrors(), readdirSync(mirrors()).find((name) => /^\w{16}\.db$/.test(name)) ?? '')

  function writeSession(
    id: string,
    turns: [text: string, reply: string, minute: number][],
    mode = 'context',
  ): void {
    const sessions = join(sandbox.home, '.local/share/chatctl/sessions')
    mkdirSync(sessions, { recursive: true })
    const lines = [
      { v: 1, type: 'session', id, at: at(0), profile: null, base_url: `${server.url}/` },
      { type: 'options', at: at(0), mode, context_id: 'c1' },
      ...turns.flatMap(([text, reply, minute], index) => [
        { type: 'user', turn: index + 1, at: at(minute), text },
        { type: 'start', turn: index + 1, at: at(minute), context_id: 'c1', id: `reply-${id}-${index}` },
        { type: 'delta', turn: index + 1, text: reply },
        { type: 'end', turn: index + 1, at: at(minute), complete: true, verified: true },
      ]),
    ]
    writeFileSync(join(sessions, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  it('finds messages of the mirror and of sessions, each once, without a request', async () => {
    writeSession('s1', [
      ['What is a write-ahead log?', 'A log that is written first.', 2],
      ['And a redo log?', 'Something else.', 5],
    ])
    const synced = await chatctl(['sync', '--json'])
    expect(JSON.parse(synced.stdout)).to.include({ messages: 2, added: 2, removed: 0, user_id: 'u1' })
    await server.close()
    const { stdout, exitCode } = await chatctl(['search', 'LÓG', '--json'])
    expect(exitCode).to.equal(0)
    const common = { session_id: 's1', context_id: 'c1' }
    expect(JSON.parse(stdout)).to.deep.equal([
      {
        ...common,
        time: at(5),
        role: 'user',
        message_id: null,
        source: 'session',
        snippet: 'And a redo log?',
      },
      {
        ...common,
        time: at(2),
        role: 'assistant',
        message_id: 'b',
        source: 'both',
        snippet: 'A log that is written first.',
      },
      {
        ...common,
        time: at(1),
        role: 'user',
        message_id: 'a',
        source: 'both',
        snippet: 'What is a write-ahead log?',
      },
    ])
  })

  it('finds a message once of which another session has a copy', async () => {
    writeSession('s2', [
      ['ok', 'fine', 3],
      ['ok', 'fine', 4],
    ])
    writeSession('s1', [['ok', 'fine', 3]])
    const found = JSON.parse((await chatctl(['search', 'ok', '--json'])).stdout)
    expect(found.map(({ session_id: id }: { session_id: string }) => id)).to.deep.equal(['s2', 's1'])
  })

  it('shows as many equal messages as there are', async () => {
    stored = [3, 4, 5].map((minute) => ({
      id: `m${minute}`,
      role: 'user',
      content: 'ok',
      created_at: at(minute),
    }))
    writeSession('s1', [
      ['ok', 'fine', 3],
      ['ok', 'fine', 4],
    ])
    await chatctl(['sync'])
    const sources = async () =>
      JSON.parse((await chatctl(['search', 'ok', '--json'])).stdout).map(
        ({ source }: { source: string }) => source,
      )
    expect((await sources()).sort()).to.deep.equal(['both', 'both', 'mirror'])
  })

  it('selects by role, context, and time, and stops at the limit', async () => {
    await chatctl(['sync'])
    writeSession('s1', [['log one', 'log two', 9]])
    const found = async (...flags: string[]) =>
      (await chatctl(['search', 'log', ...flags])).stdout.trim().split('\n')
    expect(await found()).to.have.lengthOf(4)
    expect(await found('--role', 'assistant')).to.have.lengthOf(2)
    expect(await found('--context', 'c1')).to.have.lengthOf(2)
    expect(await found('--since', at(9))).to.have.lengthOf(2)
    expect(await found('--limit', '3')).to.have.lengthOf(3)
    expect((await chatctl(['search', 'log', '--limit', '3'])).stderr).to.include('There are more messages')
  })

  it('finds what the service has with --stored, and what only this machine stores with --local', async () => {
    writeSession('s1', [['What is a write-ahead log?', 'unsynced log', 1]])
    // These are other messages, although their texts and times are those of the mirror.
    writeSession('s2', [['What is a write-ahead log?', 'A log that is written first.', 3]], 'completions')
    await chatctl(['sync'])
    const search = async (...flags: string[]) => {
      const rows: Record<string, string>[] = JSON.parse(
        (await chatctl(['search', 'log', '--json', ...flags])).stdout,
      )
      return rows.map(({ source, snippet }) => `${source}: ${snippet}`)
    }
    const question = 'What is a write-ahead log?'
    const stored = ['mirror: A log that is written first.', 'session: unsynced log', `both: ${question}`]
    const local = ['session: A log that is written first.', `session: ${question}`]
    expect(await search('--stored')).to.deep.equal(stored)
    expect(await search('--local')).to.deep.equal(local)
    expect((await search()).toSorted()).to.deep.equal([...stored, ...local].toSorted())
    expect(await search('--local', '--context', 'c1')).to.deep.equal(local)
    const shown = (await chatctl(['search', 'log', '--local'])).stderr
    expect(shown).to.equal('Searched 1 session with messages that only this machine stores.\n')
    expect((await chatctl(['search', 'log', '--stored'])).stderr).to.match(
      /^Searched 1 session on this machine, and the mirror of the service \(2 messages, as of [-\d]{10} \d\d:\d\d\)\.$/m,
    )
    expectFailure(await chatctl(['search', 'log', '--stored', '--local']), 2)
  })

  it('finds the messages of a conversation in the mirror without a transcript', async () => {
    const local = (...args: string[]) => runChatctl(sandbox, args)
    const sent = async () =>
      JSON.parse((await local('chat', 'send', '--no-save', 'An ibex', '--json')).stdout)
    const [{ context_id: one }, { context_id: other }] = [await sent(), await sent()]
    const found = async (context: string) =>
      JSON.parse((await local('history', 'search', 'ibex', '--json', '--context', context)).stdout)
    await local('history', 'sync')
    expect((await found(one)).map(({ context_id: id }: { context_id: string }) => id)).to.deep.equal([one])
    expect((await found(other)).map(({ context_id: id }: { context_id: string }) => id)).to.deep.equal([
      other,
    ])
  })

  it('exits 0 without a match, and says what was searched', async () => {
    const { exitCode, stderr, stdout } = await chatctl(['search', 'log'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: '' })
    expect(stderr).to.equal(
      'No message found. Searched 0 sessions on this machine. There is no mirror of this service; create one with: chatctl history sync\n',
    )
  })

  it('highlights matches in a terminal, with asterisks if there is no color, and shows local times', async () => {
    await chatctl(['sync'])
    const synced = await chatctl(['sync'], { terminal: { columns: 80 } })
    expect(synced.stdout).to.match(/0 new messages. The mirror has 2 messages, as of [-\d]{10} \d\d:\d\d\.$/m)
    const plain = await chatctl(['search', 'log'], { terminal: { columns: 80 }, env: { NO_COLOR: '1' } })
    expect(plain.stdout).to.include('  A *log* that is written first.\n')
    const colored = await chatctl(['search', 'log'], { terminal: { columns: 80 }, env: { FORCE_COLOR: '1' } })
    expect(colored.stdout).to.include('\u001b[1mlog\u001b[22m')
  })

  it('never writes control characters of a message to a terminal', async () => {
    stored = [{ id: 'a', role: '\u001b[31muser', content: 'a \u001b]0;title\u0007log', created_at: at(1) }]
    await chatctl(['sync'])
    const { stdout } = await chatctl(['search', 'log'], { terminal: { columns: 80 }, env: { NO_COLOR: '1' } })
    expect(stdout).to.include('log').and.not.include('\u001b').and.not.include('\u0007')
  })

  it('refuses the mirror of another account, and works without the right to read the profile', async () => {
    await chatctl(['sync'])
    userId = 'u2'
    const other = { env: { CHATCTL_API_KEY: 'other-key' } }
    expectFailure(await chatctl(['sync'], other), 7, 'is of the user u1', 'you are the user u2')
    userId = undefined
    expect((await chatctl(['sync'], { env: { CHATCTL_API_KEY: 'third-key' } })).exitCode).to.equal(0)
  })

  it('asks for the user of each credential once, and a day later if the service does not tell it', async () => {
    const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`
    let now = Date.UTC(2026, 0, 1)
    const asked = async (key: string, user: string | undefined) => {
      userId = user
      const before = server.requests.length
      const options = { env: { CHATCTL_API_KEY: key }, host: { clock: { ...systemClock, now: () => now } } }
      const { user_id: found } = JSON.parse((await chatctl(['sync', '--json'], options)).stdout)
      const requests = server.requests.slice(before).filter(({ path }) => path === '/api/user/profile')
      return [found, requests.length]
    }
    expect(await asked('forbidden', undefined)).to.deep.equal([null, 1])
    expect(await asked('forbidden', 'u1')).to.deep.equal([null, 0])
    now += 86_400_001
    expect(await asked('forbidden', 'u1')).to.deep.equal(['u1', 1])
    expect(await asked('key-of-u1', 'u1')).to.deep.equal(['u1', 1])
    expect(await asked('key-of-u1', 'u2')).to.deep.equal(['u1', 0])
    expect(await asked(token({ sub: 'u1' }), undefined)).to.deep.equal(['u1', 1])
    const remembered = readFileSync(join(sandbox.home, '.local/state/chatctl/state/users.json'), 'utf8')
    expect(remembered).to.include('u1').and.not.include('key-of-u1')
  })

  it('finds no mirror if the first sync was killed while it created the file', async () => {
    await chatctl(['sync'])
    writeFileSync(mirror(), '')
    expect((await chatctl(['search', 'log'])).stderr).to.include('There is no mirror of this service')
    expect(JSON.parse((await chatctl(['sync', '--json'])).stdout).messages).to.equal(2)
  })

  it('names a damaged mirror, and searches damaged indexes of sessions nevertheless', async () => {
    writeSession('s1', [['redo log', 'yes', 9]])
    await chatctl(['search', 'log'])
    writeFileSync(join(mirrors(), 'sessions.db'), 'x'.repeat(5000))
    expect((await chatctl(['search', 'log'])).stdout).to.include('redo log')
    await chatctl(['sync'])
    writeFileSync(mirror(), 'x'.repeat(5000))
    for (const command of [['search', 'log'], ['sync']])
      expectFailure(await chatctl(command), 1, `${mirror()} is damaged`, 'Delete the file')
  })

  it('keeps what it fetched when it is interrupted', async () => {
    stored = Array.from({ length: 300 }, (_, index) => ({
      id: `m${index}`,
      role: 'user',
      content: `message ${index}`,
      created_at: at(index),
    }))
    const controller = new AbortController()
    const { Interruption } = await import('../../../src/cli/context/interruption.ts')
    const history = historyService(plainReading, stored)
    let pages = 0
    await using slow = await startScriptedServer({
      choose: (request, index) => {
        if (request.path.startsWith('/api/user')) return json(200, { id: 'u1' })
        if (++pages === 3) controller.abort(new Interruption('SIGINT'))
        return history.choose(request, index)
      },
    })
    const env = { CHATCTL_BASE_URL: slow.url }
    const interrupted = await chatctl(['sync'], { env, host: { signal: controller.signal } })
    expect(interrupted.exitCode).to.equal(130)
    expect(interrupted.stderr).to.match(/The mirror has \d+ messages\. To continue, run the same command/)
    expect((await chatctl(['search', 'message'], { env })).stderr).to.include('The mirror is incomplete')
    expect(JSON.parse((await chatctl(['sync', '--json'], { env })).stdout).messages).to.equal(300)
  })

  it('refuses a search without a word, and a time that it cannot read', async () => {
    expectFailure(await chatctl(['search', '++']), 2, 'The search has no word')
    expectFailure(await chatctl(['search', 'a', '--since', 'x']), 2, '--since: "x" is not a date')
    expectFailure(await chatctl(['search', 'a', '--limit', '0']), 2)
  })
})
