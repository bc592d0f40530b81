import fs, { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { replacingCalls } from '../system/replacing-calls.ts'

/** What a kill leaves, and the emails of the users that the service has created. */
interface Snapshot {
  files: Map<string, Buffer>
  created: readonly string[]
}

const emails = ['ada', 'bob', 'cid'].map((name) => `${name}@x.example`)
const concurrency = 2
const ledgers = '.local/state/chatctl/state/ledger/*.jsonl'

describe('a command that is killed at any write of the ledger or the state file', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  let created: string[]
  const server = perTest(() =>
    startScriptedServer({
      choose: ({ method, path, body }) => {
        if (method !== 'POST') return json(200, { id: path.split('/').at(-1) })
        const { email } = JSON.parse(body)
        if (email !== undefined) created.push(email)
        return json(email === undefined ? 200 : 201, email === undefined ? {} : { id: `u-${email}`, email })
      },
    }),
  )

  for (const [name, words, keepsLedger] of [
    ['users import', ['import', 'users.csv'], true],
    ['users apply', ['apply', 'users.csv', '--no-password'], true],
    ['users apply without its home directory', ['apply', 'users.csv', '--no-password'], false],
  ] as const)
    it(`creates each user at most once, and the others are unknown: ${name}`, async () => {
      const kept = (pattern = `{${ledgers},users.state.json*}`) =>
        globSync(pattern, { cwd: sandbox.home }).map((file) => join(sandbox.home, file))
      const read = () => new Map(kept().map((file) => [file, readFileSync(file)]))
      const run = () =>
        runChatctl(sandbox, ['users', ...words, '--yes', '--concurrency', String(concurrency)], {
          service: server,
        })
      const snapshots: Snapshot[] = []
      const { writeSync } = fs
      const watched = (...args: unknown[]) => {
        const [before, arrived] = [read(), [...created]]
        const written = Reflect.apply(writeSync, fs, args)
        const after = read()
        const torn = Array.from(after, ([file, content]): [string, Buffer] => {
          const { length = 0 } = before.get(file) ?? {}
          return [file, content.subarray(0, (length + content.length) / 2)]
        })
        // What a write leaves is what the next one finds.
        for (const files of [before, new Map(torn)]) snapshots.push({ files, created: arrived })
        return written
      }
      created = []
      writeFileSync(join(sandbox.home, 'users.csv'), `email,role\n${emails.join(',staff\n')},staff\n`)
      const whole = await replacingCalls({ writeSync: watched }, run)
      expect(whole.exitCode, whole.stderr).to.equal(0)
      expect(snapshots.length).to.be.above(20)
      for (const [moment, { files, created: before }] of snapshots.entries()) {
        for (const file of kept()) rmSync(file)
        for (const [file, content] of files) writeFileSync(file, content)
        if (!keepsLedger) for (const file of kept(ledgers)) rmSync(file)
        created = [...before]
        const { exitCode, stderr } = await run()
        expect(exitCode, `${moment}: ${stderr}`).to.be.oneOf([0, 9])
        expect(new Set(created).size, `${moment}: ${created}`).to.equal(created.length)
        const unknown = emails.length - created.length
        expect(unknown, `${moment}`).to.be.at.most(exitCode === 0 ? 0 : concurrency)
      }
    })
})
