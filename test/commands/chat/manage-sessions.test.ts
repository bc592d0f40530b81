import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('the sessions of this machine', () => {
  const sandbox = perTest(createSandbox)
  const directory = () => join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')

  /** Plants a session that was last used so many seconds after a fixed time. */
  function plant(text: string, second: number, contextId?: string): TranscriptWriter {
    const writer = TranscriptWriter.create(directory(), { profile: 'local', baseUrl: null }, systemClock)
    const at = new Date(Date.UTC(2026, 0, 2, 3, 4, second))
    const named = contextId === undefined ? {} : { context_id: contextId }
    writer.append({ type: 'options', at: at.toISOString(), mode: 'context', ...named })
    writer.append({ type: 'user', turn: 1, at: at.toISOString(), text })
    writer.close()
    utimesSync(writer.path, at, at)
    return writer
  }

  const run = (...args: string[]) => runChatctl(sandbox, ['chat', ...args])
  const list = async (...args: string[]) => JSON.parse((await run('sessions', '--json', ...args)).stdout)
  const transcripts = () => readdirSync(directory()).sort()

  it('are listed up to a limit, the last used first', async () => {
    for (let second = 0; second < 5; second++) plant(`number ${second}`, second)
    expect(
      (await list('--limit', '2')).map(({ first_message: first }: Record<string, unknown>) => first),
    ).to.deep.equal(['number 4', 'number 3'])
    expect(await list('--limit', '5')).to.have.lengthOf(5)
    expect((await run('sessions', '--limit', '5')).stderr).to.equal('')
  })

  it('are selected with chat sessions --local and --stored by where the conversation is stored', async () => {
    const [service, machine] = [plant('of the service', 1, 'ctx_1'), plant('of this machine', 2)]
    const open = TranscriptWriter.reopen(machine.path)
    // A reply that names no conversation.
    const at = '2026-01-02T03:04:05Z'
    open.append({ type: 'end', turn: 1, at, complete: true, verified: true, first_ms: 1 })
    open.close()
    for (const [flags, ids] of [
      [[], [machine.id, service.id]],
      [['--local'], [machine.id]],
      [['--stored'], [service.id]],
      [['--local', '--search', 'service'], []],
    ] as const)
      expect(
        (await list(...flags)).map(({ id }: Record<string, unknown>) => id),
        flags.join(' '),
      ).to.deep.equal(ids)
    expect((await list()).map(({ stored, mode }: Record<string, unknown>) => [stored, mode])).to.deep.equal([
      ['local', 'completions'],
      ['service', 'context'],
    ])
    const shown = (await run('sessions', '-o', 'table')).stdout
    expect(shown).to.match(/ STORED +NAME\n.* local +of this machine\n/)
    const seen = (await run('sessions', '--local', '--search', 'service')).stderr
    expect(seen).to.match(/^No local sessions that match/)
    expectFailure(await run('sessions', '--local', '--stored'), 2, '--stored')
  })

  it('are renamed without changing their order', async () => {
    const { id } = plant('old', 1)
    plant('new', 2)
    const { exitCode, stdout } = await run('rename', id, ' Trip to Rome ', '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)[0]).to.include({ id, name: 'Trip to Rome' })
    const [first, second] = await list()
    expect([first.first_message, second.name]).to.deep.equal(['new', 'Trip to Rome'])
    expect((await list('--limit', '1'))[0]).to.include({ first_message: 'new' })
    expect((await run('show', 'Trip to Rome')).exitCode).to.equal(0)
    for (const empty of [' ', '\u001b\n']) expectFailure(await run('rename', id, empty), 2, 'NAME is empty')
    await run('rename', id, `a\tb\n\u001b[31m${'😀'.repeat(10_000)}`)
    const [, renamed] = await list()
    expect(renamed.name).to.match(/^a b \[31m😀+…$/u)
    expect(Array.from(renamed.name)).to.have.lengthOf(100)
    expect((await run('show', renamed.name)).exitCode).to.equal(0)
    expectFailure(await run('rename', 'nowhere', 'x'), 6, 'No session "nowhere"')
  })

  it('are deleted, all or none, after a confirmation', async () => {
    const [one, two, three] = [plant('one', 1, 'ctx_1'), plant('two', 2), plant('three', 3)]
    expectFailure(await run('delete', one.id), 3, '--yes')
    expectFailure(await run('delete', one.id, 'nowhere', '--yes'), 6, 'nowhere')
    expect(transcripts()).to.have.lengthOf(3)
    const { exitCode, stdout, stderr } = await run('delete', one.id, two.id, one.id, '--yes')
    expect({ exitCode, rows: stdout.trimEnd().split('\n').length }).to.deep.equal({ exitCode: 0, rows: 2 })
    expect(stderr).to.contain('Deleted 2 sessions').and.to.contain('its mirror, may still contain: ctx_1')
    expect(transcripts()).to.deep.equal([`${three.id}.jsonl`])
  })

  it('are named in the confirmation without control characters', async () => {
    const { id } = plant('\u001b[31mred', 1)
    const { stderr } = await run('delete', id)
    expect(stderr).to.contain(`Delete the session ${id} "`).and.to.contain('red"').and.to.contain('(1 turn)')
    expect(stderr).not.to.contain('\u001b')
    expect(transcripts()).to.have.lengthOf(1)
  })

  it('are pages with the message as it was written, the reply as Markdown, and how the reply ended', async () => {
    const writer = plant('__init__.py\n\n*a*', 1, 'ctx_1')
    const { path } = writer
    const open = TranscriptWriter.reopen(path)
    open.append({ type: 'reasoning', turn: 1, text: 'Hm' })
    open.append({ type: 'delta', turn: 1, text: '**Bold**' })
    open.append({
      type: 'end',
      turn: 1,
      at: '2026-01-02T03:05:00Z',
      complete: false,
      verified: false,
      reason: 'reset',
    })
    open.close()
    const { exitCode, stdout } = await run('show', writer.id, '-o', 'html')
    expect(exitCode).to.equal(0)
    expect(stdout).to.match(/^<!doctype html>.*<\/html>\n$/s)
    expect(stdout).to.contain(
      `<h1 dir="auto">__init__.py, session ${writer.id}, profile local, conversation ctx_1</h1>`,
    )
    expect(stdout).to.contain('>__init__.py\n\n*a*</div>').and.to.contain('2026-01-02 03:04:01 UTC')
    expect(stdout).to.contain('<strong>Bold</strong>').and.to.contain('truncated after 8 characters: reset')
    expect(stdout).not.to.contain('Hm')
    expect((await run('show', writer.id, '-o', 'html', '--reasoning')).stdout).to.contain('Hm')
  })

  it('are neither renamed nor deleted while another process has one of them open', async () => {
    const [one, two] = [plant('one', 1), plant('two', 2)]
    const open = TranscriptWriter.reopen(two.path)
    try {
      expectFailure(await run('delete', one.id, two.id, '--yes'), 7, 'is open in another chatctl process')
      expectFailure(await run('rename', two.id, 'x'), 7, 'is open in another chatctl process')
    } finally {
      open.close()
    }
    expect(transcripts()).to.have.lengthOf(2)
  })

  it('are not created again by a session that was about to resume one', () => {
    const { path } = plant('one', 1)
    utimesSync(path, 0, 0)
    expect(existsSync(path)).to.equal(true)
    return run('delete', path.replace(/.*\/|\.jsonl$/g, ''), '--yes').then(() => {
      expect(() => TranscriptWriter.reopen(path)).to.throw(/No transcript/)
      expect(existsSync(path)).to.equal(false)
    })
  })
})
