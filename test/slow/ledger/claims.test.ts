import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { collectOutput, startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'

const count = 60
const emails = Array.from({ length: count }, (_, index) => `user${index}@example.com`)

describe('two processes that claim the same users', () => {
  const sandbox = perTest(createSandbox)

  /** @returns the users that were begun, those twice that both have begun */
  async function claim(lock: 'locked' | 'unlocked'): Promise<string[]> {
    const path = join(sandbox.home, `${lock}.jsonl`)
    const children = Array.from({ length: 2 }, (): ChildProcess => {
      return fork(new URL('claim-users.ts', import.meta.url), [path, lock])
    })
    const replies = () => Promise.all(children.map((child) => once(child, 'message')))
    await replies()
    const begun: string[] = []
    for (let batch = 0; batch < 60; batch++) {
      appendFileSync(path, '{"email":"torn')
      const replied = replies()
      for (const child of children) child.send('next')
      begun.push(...(await replied).flatMap(([claimed]) => claimed))
    }
    const closed = Promise.all(children.map((child) => once(child, 'close')))
    for (const child of children) child.send('end')
    await closed
    return begun
  }

  it('begin each once, and some twice without the lock', async () => {
    const begun = await claim('locked')
    expect(begun).to.have.lengthOf(60 * 16)
    expect(new Set(begun)).to.have.property('size', 60 * 16)
    const unlocked = await claim('unlocked')
    expect(unlocked.length).to.be.above(new Set(unlocked).size)
  })
})

type Disturbance = 'none' | 'SIGKILL' | 'SIGSTOP'

describeSample('two commands that create the same users', 3, function () {
  this.timeout(120_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ allowsDuplicates: true, delay: 4 })))
  const commands: Record<string, (name: string) => string[]> = {
    import: (name) => ['users', 'import', `${name}.csv`, '--results', `${name}-results.csv`],
    apply: (name) => ['users', 'apply', `${name}.csv`, '--no-password', '--state', `${name}.state.json`],
  }

  const start = (command: string, name: string, ...flags: string[]) => {
    const words = commands[command]?.(name) ?? []
    const child = startBuilt(sandbox, [...words, '--yes', '--concurrency', '8', ...flags], {
      env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' },
    })
    child.stdin?.end()
    const run = collectOutput(child)
    const ended = once(child, 'close').then(([exitCode]) => Object.assign(run, { exitCode }))
    return { child, ended }
  }
  const idsOf = (email: string) => server.report().creates.get(email)?.ids ?? []

  /** Resolves the creates with an unknown outcome, as the output advises. */
  async function resolve(command: string, name: string): Promise<void> {
    if (command === 'apply') {
      await start(command, name).ended
      const state: { users: { email: string; id?: string }[] } = JSON.parse(
        readFileSync(join(sandbox.home, `${name}.state.json`), 'utf8'),
      )
      const known = new Set(state.users.flatMap(({ email, id }) => (id === undefined ? [] : [email])))
      const open = emails.filter((email) => !known.has(email))
      const found = open.flatMap((email) => idsOf(email).map((id) => `${email}=${id}`))
      const adopt = ['users', 'adopt', ...found, '--state', `${name}.state.json`]
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
      if (found.length > 0)
        await once(
          startBuilt(sandbox, adopt, { env }).on('error', () => {}),
          'close',
        )
      await start(command, name, '--retry-unknown').ended
      return
    }
    await start(command, name).ended
    const results: Record<string, string>[] = parse(readFileSync(join(sandbox.home, `${name}-results.csv`)), {
      columns: true,
    })
    for (const { line = '', email = '', status } of results) {
      const [id] = idsOf(email)
      if (status !== 'unknown' || id === undefined) continue
      await start(command, name, '--on-unknown', 'created', '--id', id, '--line', line).ended
    }
    await start(command, name, '--on-unknown', 'retry').ended
  }

  const pairs = [
    ['import', 'import'],
    ['apply', 'apply'],
    ['import', 'apply'],
  ] as const
  for (const pair of pairs)
    for (const disturbance of ['none', 'SIGKILL', 'SIGSTOP'] as const satisfies Disturbance[])
      for (const atRequest of disturbance === 'none' ? [0] : [5, 40])
        it(`create each once: ${pair.join(' and ')}, ${disturbance} at request ${atRequest}`, async () => {
          for (const [index, name] of ['a', 'b'].entries()) {
            const rows = index === 0 ? emails : [...emails.slice(20), ...emails.slice(0, 20)]
            writeFileSync(join(sandbox.home, `${name}.csv`), `email\n${rows.join('\n')}\n`)
          }
          const [one, other] = pair.map((command, index) => start(command, index === 0 ? 'a' : 'b'))
          if (!one || !other) throw new Error('there are no commands')
          let requests = 0
          server.onRequest = ({ method }) => {
            const [ledger] = globSync('.local/state/chatctl/state/ledger/*.jsonl', { cwd: sandbox.home })
            if (ledger) appendFileSync(join(sandbox.home, ledger), '{"email":"torn')
            if (method === 'POST' && ++requests === atRequest && disturbance !== 'none')
              one.child.kill(disturbance)
          }
          const second = await other.ended
          expect(second.exitCode, second.stderr).to.be.oneOf([0, 7, 9])
          one.child.kill('SIGCONT')
          const first = await one.ended
          expect(first.exitCode, first.stderr).to.be.oneOf(
            disturbance === 'SIGKILL' ? [0, 7, 9, null] : [0, 7, 9],
          )
          expect(emails.filter((email) => idsOf(email).length > 1)).to.deep.equal([])
          for (const [index, name] of ['a', 'b'].entries()) await resolve(pair[index] ?? '', name)
          for (const [index, name] of ['a', 'b'].entries()) {
            const last = await start(pair[index] ?? '', name).ended
            expect(last.exitCode, last.stderr).to.equal(0)
          }
          expect(emails.filter((email) => idsOf(email).length !== 1)).to.deep.equal([])
        })
})
