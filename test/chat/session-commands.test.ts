import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { TranscriptLine } from '../../src/chat/transcript/transcript-line.ts'
import { TranscriptWriter } from '../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../src/system/clock.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { sse, startScriptedServer } from '../support/scripted-server.ts'

const local = { profile: 'local', baseUrl: null }
const work = { profile: null, baseUrl: 'https://chat.example/' }
const time = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString()

const trip: TranscriptLine[] = [
  { type: 'name', name: 'trip' },
  { type: 'options', at: time(0), mode: 'context', model: 'small' },
  { type: 'user', turn: 1, at: time(1), text: 'Where  to?\nSay it' },
  { type: 'start', turn: 1, at: time(1), context_id: 'c1', model: 'small-1' },
  { type: 'delta', turn: 1, text: 'To ' },
  { type: 'delta', turn: 1, text: 'Rome:\n```sh\ncd rome' },
  { type: 'usage', turn: 1, usage: { total_tokens: 3 } },
  {
    type: 'end',
    turn: 1,
    at: time(2),
    complete: false,
    verified: false,
    reason: 'connection lost',
    first_ms: 5,
  },
  { type: 'user', turn: 2, at: time(3), text: 'And then?' },
]

describe('the sessions of this machine', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)
  let id: string
  let idElsewhere: string

  function plant(
    lines: readonly TranscriptLine[],
    about: { profile: string | null; baseUrl: string | null },
  ) {
    const directory = join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    const writer = TranscriptWriter.create(directory, about, systemClock)
    for (const line of lines) writer.append(line)
    writer.close()
    return writer
  }

  before(function () {
    if (process.platform === 'win32') this.skip()
    id = plant(trip, local).id
    const thought: TranscriptLine = { type: 'reasoning', turn: 1, text: 'Hm' }
    idElsewhere = plant([{ type: 'user', turn: 1, at: time(9), text: 'x'.repeat(100) }, thought], work).id
  })

  const run = (...args: string[]) => runChatctl(sandbox, args)
  const printed = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  it('are listed for the current service, or all with --all, the most recently used first', async () => {
    const row = `${id}\t${time(3)}\t2\tunknown\tsmall\tc1\ttrip\tWhere to? Say it\tlocal\n`
    const other = `${idElsewhere}\t${time(9)}\t1\tunknown\t\t\t${'x'.repeat(59)}…\t${'x'.repeat(59)}…\t\n`
    expect(await printed('chat', 'sessions')).to.equal(row)
    expect(await printed('chat', 'sessions', '--all')).to.equal(other + row)
    // A base URL without a key is enough, because nothing is sent.
    expect(await printed('chat', 'sessions', '--base-url', 'https://chat.example')).to.equal(other)
  })

  it('are listed in a table of 80 columns with complete IDs', async () => {
    const lines = (await printed('chat', 'sessions', '--all', '-o', 'table')).split('\n')
    expect(lines[0]).to.match(/^ID +UPDATED_AT +STORED +NAME$/)
    expect(lines[1]).to.match(
      new RegExp(`^${idElsewhere} +${time(9).slice(0, 16).replace('T', ' ')} +unknown `),
    )
    for (const line of lines) expect(line.length).to.be.at.most(80)
  })

  it('are searched by name and by all messages, as in the list of /resume', async () => {
    expect(await printed('chat', 'sessions', '--search', 'where trip')).to.include(id)
    expect(await printed('chat', 'sessions', '--search', 'trip cd')).to.include(id)
    const { stdout, stderr } = await run('chat', 'sessions', '--search', 'cd paris')
    expect(stdout).to.equal('')
    expect(stderr).to.include('Search all messages with: chatctl history search "cd paris"')
  })

  it('are shown as text, with the local times of the list', async () => {
    const zone = process.env['TZ']
    process.env['TZ'] = 'Asia/Tokyo'
    try {
      expect(await printed('chat', 'sessions', '-o', 'table')).to.contain('2026-01-02 12:04')
      expect(await printed('chat', 'show', id)).to.equal(
        `trip, session ${id}, profile local, conversation c1

--- 1, 2026-01-02 12:04, small-1 ---

You: Where  to?
Say it

To Rome:
\`\`\`sh
cd rome

[truncated after 22 characters: connection lost]

--- 2, 2026-01-02 12:04 ---

You: And then?

[lost: ended by a crash]
`,
      )
    } finally {
      if (zone === undefined) delete process.env['TZ']
      else process.env['TZ'] = zone
    }
  })

  it('are shown as Markdown that closes an unfinished code block', async () => {
    expect(await printed('chat', 'show', 'trip', '-o', 'md')).to.equal(
      await printed('chat', 'show', 'trip', '-o', 'markdown'),
    )
    expect(await printed('chat', 'show', 'trip', '-o', 'markdown')).to.equal(
      `# trip, session ${id}, profile local, conversation c1

---

**You**, 1, 2026-01-02 03:04:01 UTC, small-1

> Where  to?
> Say it

To Rome:
\`\`\`sh
cd rome
\`\`\`

*[truncated after 22 characters: connection lost]*

---

**You**, 2, 2026-01-02 03:04:03 UTC

> And then?

*[lost: ended by a crash]*
`,
    )
  })

  it('are shown with the reasoning of the model only with --reasoning', async () => {
    expect(await printed('chat', 'show', idElsewhere)).not.to.contain('Hm')
    expect(await printed('chat', 'show', idElsewhere, '--reasoning')).to.contain('Reasoning: Hm')
  })

  it('are shown as one JSON object', async () => {
    for (const flags of [['--json'], ['-o', 'json']]) {
      const body = JSON.parse(await printed('chat', 'show', id, ...flags))
      expect(body).to.deep.include({
        v: 1,
        id,
        profile: 'local',
        base_url: null,
        name: 'trip',
        context_id: 'c1',
      })
      expect(body.turns[0]).to.deep.equal({
        turn: 1,
        at: time(1),
        user: 'Where  to?\nSay it',
        answer: 'To Rome:\n```sh\ncd rome',
        status: 'truncated',
        context_id: 'c1',
        model: 'small-1',
        usage: { total_tokens: 3 },
        reason: 'connection lost',
        first_ms: 5,
      })
    }
  })

  for (const [what, frames, done] of [
    [
      'whole',
      [
        { context_id: 'c1', model: 'm', delta: 'Hel' },
        { delta: 'lo' },
        { id: 'x', usage: { total_tokens: 3 } },
      ],
      true,
    ],
    ['truncated', [{ context_id: 'c1', delta: 'Hel' }], false],
  ] as const) {
    it(`replay the events that a stream printed: ${what}`, async () => {
      await server.serve(sse([...frames], { done }))
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
      const live = await runChatctl(sandbox, ['chat', 'send', 'Hi', '--stream', '--json'], { env })
      const [{ id }] = JSON.parse(await printed('chat', 'sessions', '--all', '--json'))
      expect(await printed('chat', 'show', id, '-o', 'jsonl')).to.equal(
        `{"v":1,"type":"user","text":"Hi"}\n${live.stdout}`,
      )
    })
  }

  it('are found by ID or name, and otherwise the error names the candidates', async () => {
    expect(await printed('chat', 'show', `${'x'.repeat(59)}…`)).to.match(/^x{59}…, session s/)
    expect(await printed('chat', 'show', id.slice(1, 12 + 8))).to.include('trip')
    expectFailure(await run('chat', 'show', 'nowhere'), 6, 'No session "nowhere"', 'chat sessions --all')
    expectFailure(await run('chat', 'show', id.slice(0, 3)), 2, 'is ambiguous')
    const { stderr } = await run('chat', 'show', 'nowhere', '-o', 'jsonl')
    expect(JSON.parse(stderr).error.code).to.equal('not_found')
  })

  it('reject -o csv and --fields, and ignore CHATCTL_OUTPUT=csv', async () => {
    expectFailure(await run('chat', 'show', id, '-o', 'csv'), 2, 'text, markdown, html, json, jsonl')
    expectFailure(await run('chat', 'show', id, '--fields', 'id'), 2, '--fields')
    const aside = await runChatctl(sandbox, ['chat', 'show', id], { env: { CHATCTL_OUTPUT: 'csv' } })
    expect(aside.stdout).to.match(/^trip, session/)
  })

  it('are offered by ID in tab completion', async () => {
    expect(await printed('complete', '--', 'chat', 'show', 's2')).to.include(`${id}\n`)
  })

  it('are a storage error if a later version of chatctl wrote them', async () => {
    const { path, id } = plant(trip, local)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"v":1', '"v":7'))
    expectFailure(await run('chat', 'show', id), 1, 'newer chatctl', 'Update chatctl')
  })
})
