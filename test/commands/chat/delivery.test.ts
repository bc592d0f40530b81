import { readdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, serveHandler } from '../../support/scripted-server.ts'

describe('the delivery of a turn', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const run = (...args: string[]) =>
    runChatctl(sandbox, args, {
      env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', CHATCTL_RETRIES: '0' },
    })
  const send = (...args: string[]) => run('chat', 'send', ...args)
  const rows = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const lines = async (...args: string[]) =>
    (await run(...args)).stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
  const stored = async () => (await rows('chat', 'sessions')).map((row: { stored: string }) => row.stored)
  const found = async (...flags: string[]) =>
    (await rows('history', 'search', 'ibex', ...flags)).map(({ role }: { role: string }) => role)

  for (const [what, behavior, delivery] of [
    ['an unknown model', failing(404, 'model_not_found', 'No such model'), 'not_sent'],
    ['an invalid key', failing(401, 'unauthorized', 'Invalid key'), 'not_sent'],
    ['an error of the service', failing(500, 'broken', 'Out of order'), 'unknown'],
  ] as const)
    for (const flags of [[], ['--system', 'Be brief'], ['--context', 'ctx_9']])
      it(`is ${delivery} after ${what}, for every command: ${flags[0] ?? 'a new conversation'}`, async () => {
        server.failNext(behavior)
        expect((await send('an ibex', ...flags)).exitCode).not.to.equal(0)
        // No service stores a completion, so it has no effect.
        const isLocal = delivery === 'not_sent' || flags[0] === '--system'
        expect(await stored()).to.deep.equal([isLocal ? 'not_sent' : delivery])
        expect(await found('--stored')).to.deep.equal([])
        expect(await found('--local')).to.deep.equal(isLocal ? ['user'] : [])
        expect(await found()).to.deep.equal(['user'])
        const exported = await lines('history', 'export', '--local')
        expect(exported.map(({ content }) => content)).to.deep.equal(isLocal ? ['an ibex'] : [])
        if (flags[0] !== '--context')
          expectFailure(await send('--continue', 'And?'), 2, 'no conversation to continue')
        // An export of everything asks the service.
        const all = await lines('history', 'export')
        expect(all.map(({ content }) => content)).to.deep.equal(['an ibex'])
        if (flags.length === 0) expect(await stored()).to.deep.equal([isLocal ? delivery : 'local'])
      })

  it('is not that of an unknown model afterward, which the next message does not name', async () => {
    await send('one', '-m', 'good')
    server.failNext(failing(404, 'model_not_found', 'No such model'))
    expectFailure(await send('--continue', '-m', 'other', 'two'), 6)
    expect((await send('--continue', 'three')).exitCode).to.equal(0)
    expect(server.sends.at(-1)).to.include({ model: 'good', context_id: server.contexts[0] })
  })

  it('is not sent if the service was not reached', async () => {
    await server.close()
    expectFailure(await send('an ibex'), 69)
    expect(await stored()).to.deep.equal(['not_sent'])
    expect(await found('--stored')).to.deep.equal([])
  })

  it('is decided again when the service shows its history, and a fork continues what it no longer has', async () => {
    for (const text of ['one', 'two', 'three']) await send('--continue', text).then(() => send(text))
    await send('ibex one')
    for (const text of ['ibex two', 'ibex three']) await send('--continue', text)
    const [last] = server.contexts.slice(-1)
    const forgotten = server.history(last)
    expect((await stored())[0]).to.equal('service')
    server.forget(last ?? '', 6)
    server.failNext(failing(404, 'context_not_found', 'There is no such conversation'))
    const gone = await send('--continue', 'And?')
    expectFailure(gone, 6, `no longer has the conversation ${last}`, `--context ${last} --fork`)
    expect((await stored())[0]).to.equal('local')
    expect(await found('--stored')).to.deep.equal([])
    expect(await found('--local')).to.have.lengthOf(6)
    const exported = await lines('history', 'export', '--local')
    expect(exported.map(({ content }) => content)).to.deep.equal([
      ...forgotten.map(({ content }) => content),
      'And?',
    ])
    const forked = await send('--continue', '--fork', 'And then?')
    expect(forked).to.include({ exitCode: 0, stdout: 'You said: And then?\n' })
    expect(server.completions.at(-1)?.messages).to.have.lengthOf(7)
    // A backup was restored.
    for (const { role, content, id } of forgotten) server.say(last ?? '', role ?? '', content ?? '', id ?? '')
    await run('history', 'list', '--context', last ?? '')
    expect(await found('--stored')).to.have.lengthOf(6)
    server.forget(last ?? '', 6)
    expect((await run('history', 'sync')).exitCode).to.equal(0)
    expect(await found('--local')).to.have.lengthOf(6)
  })
})

describe('the last conversation', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const run = (args: string[], more: NodeJS.ProcessEnv = {}) =>
    runChatctl(sandbox, args, {
      env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', ...more },
    })
  const last = async (more: NodeJS.ProcessEnv = {}) => {
    const { stderr } = await run(['chat', 'send', '-c', 'And?', '--dry-run'], more)
    const [{ name }] = JSON.parse((await run(['chat', 'sessions', '--json'], more)).stdout)
    expect(stderr).to.contain(`"${name}"`)
    return name
  }

  it('is found without the state directory, and with another one', async () => {
    await run(['chat', 'send', 'one'])
    rmSync(join(sandbox.home, '.local', 'state'), { recursive: true, force: true })
    expect(await last()).to.equal('one')
    const { stdout } = await run(['chat', 'show', '--last', '--reply'])
    expect(stdout).to.equal('You said: one\n')
    const other = { XDG_STATE_HOME: join(sandbox.home, 'other') }
    await run(['chat', 'send', 'two'])
    expect(await last(other)).to.equal('two')
    await run(['chat', 'send', 'three', '--system', 'Be brief'], other)
    await run(['chat', 'send', '--context', 'ctx_1', 'And?'])
    expect(await last()).to.equal('one')
  })

  it('is what was written last, also after a day with a clock that was ahead', async () => {
    await run(['chat', 'send', 'ahead'])
    const data = join(sandbox.home, '.local', 'share', 'chatctl')
    const [name = ''] = readdirSync(join(data, 'sessions'))
    const tomorrow = Date.now() / 1000 + 86_400
    for (const file of ['sessions.order', join('sessions', name)])
      utimesSync(join(data, file), tomorrow, tomorrow)
    expect(await last()).to.equal('ahead')
    await run(['chat', 'send', 'now'])
    expect(await last()).to.equal('now')
    await run(['chat', 'send', 'unrecorded', '--no-save'])
    const { stderr } = await run(['chat', 'send', '-c', 'And?'])
    expect(stderr).to.match(/^Continuing conversation ctx_3/)
    await run(['chat', 'send', 'again'])
    expect(await last()).to.equal('again')
  })

  it('is none whose first message failed, with and without --system', async () => {
    await run(['chat', 'send', 'one'])
    for (const flags of [[], ['--system', 'Be brief']]) {
      server.failNext(failing(401, 'unauthorized', 'Invalid key'))
      await run(['chat', 'send', 'two', ...flags])
      const { stderr } = await run(['chat', 'send', '-c', 'And?', '--dry-run'])
      expect(stderr).to.contain('Would continue "one"')
    }
  })
})
